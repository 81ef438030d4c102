/// Twenty columns of whole and decimal numbers, about 140 bytes a row.
///
/// Decimals are written without trailing zeros, but for `price`, which always has two digits: both
/// are found in practice, and a database must give back either.
struct NumberRows: SampleRows {
  let header =
    "id,time,group,age,score,delta,balance,account,serial,flag,price,ratio,latitude,longitude,"
    + "temperature,weight,amount,share,visits,discount\n"

  private var random: RandomSource
  private var row: UInt64 = 0
  private var time: UInt64 = 1_533_254_400_000
  private var serial: UInt64 = 100_000_000_000_000

  init(seed: UInt64) {
    random = RandomSource(seed: seed)
  }

  mutating func appendRow(to buffer: inout [UInt8]) {
    row &+= 1
    time &+= UInt64(random.below(2000))
    serial &+= UInt64(1 + random.below(50))
    buffer.append(decimal: row)
    whole(time, &buffer)
    whole(UInt64(random.below(10)), &buffer)
    whole(UInt64(random.below(1 + random.below(110))), &buffer)
    whole(UInt64((random.below(101) + random.below(101)) / 2), &buffer)
    signed(random.below(2001) - 1000, decimals: 0, &buffer)
    signed(random.below(2_000_000_001) - 1_000_000_000, decimals: 0, &buffer)
    whole(100_000_000_000_000 + random.next() % 900_000_000_000_000, &buffer)
    whole(serial, &buffer)
    whole(random.chance(3000) ? 1 : 0, &buffer)
    price(&buffer)
    signed(random.below(1000), decimals: 3, &buffer)
    signed(random.below(180_000_001) - 90_000_000, decimals: 6, &buffer)
    signed(random.below(360_000_001) - 180_000_000, decimals: 6, &buffer)
    signed(random.below(701) - 250, decimals: 1, &buffer)
    signed(random.below(2_000_000), decimals: 4, &buffer)
    signed(amount(), decimals: 2, &buffer)
    signed(random.below(10_000_001), decimals: 5, &buffer)
    buffer.append(UInt8(ascii: ","))
    if random.chance(3000) { buffer.append(decimal: UInt64(random.below(5000))) }
    if random.chance(8000) {
      signed(random.below(100), decimals: 2, &buffer)
    } else {
      buffer.append(UInt8(ascii: ","))
    }
    buffer.append(UInt8(ascii: "\n"))
  }

  private func whole(_ number: UInt64, _ buffer: inout [UInt8]) {
    buffer.append(UInt8(ascii: ","))
    buffer.append(decimal: number)
  }

  /// A number counted in units of the last decimal, without trailing zeros.
  private func signed(_ units: Int, decimals: Int, _ buffer: inout [UInt8]) {
    buffer.append(UInt8(ascii: ","))
    if units < 0 { buffer.append(UInt8(ascii: "-")) }
    var (units, decimals) = (units.magnitude, decimals)
    while decimals > 0, units % 10 == 0 {
      units /= 10
      decimals -= 1
    }
    var scale: UInt = 1
    for _ in 0..<decimals { scale *= 10 }
    buffer.append(decimal: UInt64(units / scale))
    if decimals > 0 {
      buffer.append(UInt8(ascii: "."))
      buffer.append(decimal: UInt64(units % scale), width: decimals)
    }
  }

  private mutating func price(_ buffer: inout [UInt8]) {
    buffer.append(UInt8(ascii: ","))
    buffer.append(decimal: UInt64(random.below(1 + random.below(500))))
    buffer.append(UInt8(ascii: "."))
    buffer.append(decimal: UInt64(random.below(100)), width: 2)
  }

  /// Heavy-tailed: every power of two up to 2^27 cents is as likely as the next.
  private mutating func amount() -> Int {
    let size = 1 << (4 + random.below(24))
    return size + random.below(size)
  }
}
