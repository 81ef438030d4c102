import Foundation
import Testing
import TestSupport

@testable import Engine

/// The spellings of values of each type.
@Suite struct ValueSpellingTests {
  @Test("An int has 64 bits and may have a plus sign, but neither -0 nor leading zeros")
  func integers() {
    let fitting: [(String, Int64)] = [
      ("0", 0), ("5", 5), ("-5", -5), ("+5", 5), ("+0", 0), ("12345678", 12_345_678),
      ("123456789", 123_456_789), ("9223372036854775807", .max), ("-9223372036854775808", .min),
    ]
    for (text, value) in fitting {
      #expect(Value(spelling: text, type: .int) == .int(value), "\(text)")
    }
    for text in [
      "", "-", "+", "-0", "007", "+007", "00", "1.0", "1e3", "1 2", " ", "\u{A0}1", "0x1", "1_0",
      "٣",
      "9223372036854775808", "-9223372036854775809", "18446744073709551616",
    ] {
      #expect(Value(spelling: text, type: .int) == nil, "\(text)")
    }
  }

  @Test("Doubles are read from their spellings")
  func doubles() {
    let fitting: [(String, Double)] = [
      ("0", 0), ("5", 5), ("-5.25", -5.25), ("+5", 5), (".5", 0.5), ("-.5", -0.5), ("1e3", 1000),
      ("1E+3", 1000), ("1.5e-3", 0.0015), ("0.1", 0.1), ("9223372036854775808", 0x1p63),
      ("5e-324", .leastNonzeroMagnitude), ("1.7976931348623157e308", .greatestFiniteMagnitude),
      ("1e23", 1e23), ("NaN", .nan), ("nan", .nan), ("inf", .infinity), ("-inf", -.infinity),
      ("Inf", .infinity), ("-Inf", -.infinity), ("Infinity", .infinity), ("-Infinity", -.infinity),
      ("50.", 50), ("-7.", -7), ("0.", 0), ("-0.", -0.0), ("+5.", 5),
    ]
    for (text, value) in fitting {
      #expect(Value(spelling: text, type: .double) == .double(value), "\(text)")
    }
    for text in [
      "", ".", "-", "-.", "1e", "e1", "1e+", "007.5", "00", "NAN", "Nan", "-nan", "+inf",
      "INF", "infinity", "Infinitx", "-Infinitx", "5..", "05.", "5.e3", "5e3.",
      "0x1p3", "1,5", "1e400", "-1e400", "1 e3", "1.2.3",
    ] {
      #expect(Value(spelling: text, type: .double) == nil, "\(text)")
    }
    if case .double(let zero) = Value(spelling: "-0", type: .double) {
      #expect(zero.sign == .minus)
    } else {
      Issue.record("-0 is a double")
    }
  }

  @Test("Booleans, text and data are read from their spellings")
  func booleansTextAndData() {
    for text in ["true", "True", "TRUE"] {
      #expect(Value(spelling: text, type: .bool) == .bool(true))
    }
    for text in ["false", "False", "FALSE"] {
      #expect(Value(spelling: text, type: .bool) == .bool(false))
    }
    for text in ["", "t", "yes", "1", "tRUE", "tr ue", "falsee"] {
      #expect(Value(spelling: text, type: .bool) == nil)
    }
    #expect(Value(spelling: "", type: .text) == .text(""))
    #expect(Value(spelling: [0xFF], type: .text) == nil)
    #expect(Value(spelling: [0xFF], type: .data) == .data([0xFF]))
  }

  @Test("Dates are read, and impossible days are not")
  func dates() throws {
    let day = try #require(CalendarDate(year: 2018, month: 8, day: 3))
    #expect(Value(spelling: "2018-08-03", type: .date) == .date(day))
    #expect(day.daysSince1970 == 17746)
    #expect((day.year, day.month, day.day) == (2018, 8, 3))
    #expect(CalendarDate(year: 2018, month: 2, day: 29) == nil)
    #expect(CalendarDate(daysSince1970: -719_529) == nil)
    #expect(CalendarDate(daysSince1970: 2_932_897) == nil)
    // Every day from 1890 on, counted by hand.
    var (year, month, dayOfMonth) = (1890, 1, 1)
    let first = try #require(CalendarDate(year: 1890, month: 1, day: 1))
    for days in Int(first.daysSince1970)..<45_000 {
      let date = try #require(CalendarDate(daysSince1970: days))
      try #require((date.year, date.month, date.day) == (year, month, dayOfMonth))
      try #require(CalendarDate(year: year, month: month, day: dayOfMonth) == date)
      dayOfMonth += 1
      if CalendarDate(year: year, month: month, day: dayOfMonth) == nil {
        try #require(dayOfMonth > 28)
        (month, dayOfMonth) = month == 12 ? (1, 1) : (month + 1, 1)
        if month == 1 { year += 1 }
      }
    }
    for text in ["0000-01-01", "9999-12-31", "0000-02-29", "2000-02-29", "1999-12-31"] {
      let value = try #require(Value(spelling: text, type: .date))
      #expect(value.spelling == Array(text.utf8))
    }
  }

  @Test("Date-times are read with offsets and fractions")
  func dateTimes() throws {
    let moment = try #require(DateTime(microsecondsSince1970: 1_533_299_696_000_000))
    for text in [
      "2018-08-03T12:34:56Z", "2018-08-03 12:34:56", "2018-08-03T14:34:56+02:00",
      "2018-08-03T12:34:56.000", "2018-08-03 07:04:56.0-05:30",
    ] {
      #expect(Value(spelling: text, type: .dateTime) == .dateTime(moment), "\(text)")
    }
    #expect(moment.description == "2018-08-03T12:34:56Z")
    let early = try #require(DateTime(microsecondsSince1970: -1))
    #expect(early.description == "1969-12-31T23:59:59.999999Z")
    #expect(
      Value(spelling: "2018-08-03", type: .dateTime)?.spelling == Array("2018-08-03T00:00:00Z".utf8)
    )
    #expect(Value(spelling: "2018-02-30", type: .dateTime) == nil)
    #expect(Value(spelling: "0000-01-01T00:00:00+00:01", type: .dateTime) == nil)
  }

  @Test("Blanks around a value are ignored")
  func blanksAround() {
    let values: [(String, ColumnType)] = [
      ("-5", .int), ("1e3", .double), ("NaN", .double), ("TRUE", .bool), ("2018-08-03", .date),
      ("2018-08-03 12:34", .dateTime), ("2018-08-03", .dateTime),
    ]
    for (text, type) in values {
      let value = Value(spelling: text, type: type)
      #expect(value != nil)
      for padded in [" \(text)", "\(text)\t", "  \t\(text) "] {
        #expect(Value(spelling: padded, type: type) == value, "'\(padded)'")
        #expect(Value(spelling: padded, type: .text) == .text(padded))
      }
      for other in ["\u{A0}\(text)", "\(text)\n", "\(text) x"] {
        #expect(Value(spelling: other, type: type) == nil, "'\(other)'")
      }
    }
    for type in ColumnType.allCases where type != .text && type != .data {
      for text in ["", " ", "\t \t"] { #expect(Value(spelling: text, type: type) == nil) }
    }
  }

  @Test("Doubles are those of strtod", arguments: [1, 2, 3] as [UInt64])
  func doublesAgreeWithStrtod(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    for _ in 0..<4000 {
      var text = Bool.random(using: &random) ? "-" : ""
      let whole = Int.random(in: 0...20, using: &random)
      for index in 0..<whole {
        let digit = Int.random(in: index == 0 && whole > 1 ? 1...9 : 0...9, using: &random)
        text += "\(digit)"
      }
      let fraction = Int.random(in: whole == 0 ? 1...22 : 0...22, using: &random)
      if fraction > 0 {
        text += "."
        for _ in 0..<fraction { text += "\(Int.random(in: 0...9, using: &random))" }
      }
      if Int.random(in: 0..<3, using: &random) == 0 {
        text += "e\(Int.random(in: -330...310, using: &random))"
      }
      let expected = strtod(text, nil)
      guard case .double(let value)? = Value(spelling: text, type: .double) else {
        #expect(!expected.isFinite, "seed \(seed): \(text)")
        continue
      }
      #expect(value.bitPattern == expected.bitPattern, "seed \(seed): \(text)")
    }
  }

  @Test("Halfway between two doubles the even one is read, and beside it the nearer one")
  func halves() {
    var random = SplitMix64(seed: 4)
    var numbers: [(mantissa: UInt64, exponent: Int)] = []
    for _ in 0..<300 {
      // Odd numbers of 54 bits, and these divided by powers of two.
      let odd = UInt64.random(in: 1 << 53..<1 << 54, using: &random) | 1
      var power: UInt64 = 1
      for digits in 0...4 {
        let (product, overflow) = odd.multipliedReportingOverflow(by: power)
        if !overflow { numbers.append((product, -digits)) }
        power *= 5
      }
      // Odd numbers of 54 bits that are divided by a power of five, times one of ten.
      power = 1
      for exponent in 0...22 {
        let quotient = odd / power | 1
        if quotient * power >> 53 == 1 { numbers.append((quotient, exponent)) }
        power *= 5
      }
      // The numbers of 64 bits nearest to such a one, so that the quotient's bits alone look like half.
      var wide = UInt128(odd)
      for digits in 1...22 {
        wide *= 10
        let surplus = max(0, 64 - wide.leadingZeroBitCount)
        numbers.append((UInt64(truncatingIfNeeded: wide >> UInt128(surplus)), -digits))
      }
      numbers.append((random.next(), Int.random(in: -27...27, using: &random)))
      numbers.append((random.next() >> UInt64.random(in: 0..<64, using: &random), -27))
    }
    for (middle, exponent) in numbers {
      for mantissa in [middle &- 1, middle, middle &+ 1] where mantissa > 0 {
        let expected = strtod("\(mantissa)e\(exponent)", nil)
        let rounded = NumberSpelling.roundedDouble(mantissa, exponent: exponent)
        let nearest = NumberSpelling.nearestDouble(mantissa, exponent: exponent)
        #expect(rounded?.bitPattern == expected.bitPattern, "\(mantissa)e\(exponent)")
        #expect(nearest?.bitPattern == expected.bitPattern, "\(mantissa)e\(exponent)")
      }
    }
    #expect(NumberSpelling.roundedDouble(1, exponent: 28) == nil)
    #expect(NumberSpelling.roundedDouble(1, exponent: -28) == nil)
    #expect(NumberSpelling.nearestDouble(0, exponent: -5) == 0)
  }

  @Test("The canonical spelling of a value reads back", arguments: [4, 5] as [UInt64])
  func canonicalSpellingsReadBack(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    for _ in 0..<2000 {
      let bits =
        UInt64.random(in: 0...UInt64.max, using: &random)
        >> UInt64.random(in: 0...63, using: &random)
      let int = Value.int(Int64(bitPattern: bits))
      #expect(int.spelling == Array("\(Int64(bitPattern: bits))".utf8), "seed \(seed)")
      #expect(Value(spelling: int.spelling, type: .int) == int, "seed \(seed)")
      let raw = Double(bitPattern: UInt64.random(in: 0...UInt64.max, using: &random))
      if raw.isFinite {
        #expect(
          Value(spelling: Value.double(raw).spelling, type: .double) == .double(raw), "seed \(seed)"
        )
      }
      let micros = Int64.random(in: DateTime.range, using: &random)
      let moment = Value.dateTime(try #require(DateTime(microsecondsSince1970: micros)))
      #expect(
        Value(spelling: moment.spelling, type: .dateTime) == moment, "seed \(seed): \(micros)")
      let days = Int(Int64.random(in: CalendarDate.range, using: &random))
      let date = Value.date(try #require(CalendarDate(daysSince1970: days)))
      #expect(Value(spelling: date.spelling, type: .date) == date, "seed \(seed): \(days)")
    }
  }

  @Test("Each day of the calendar follows the one before it")
  func everyDay() throws {
    var (year, month, day) = (0, 1, 1)
    for days in CalendarDate.range {
      let date = try #require(CalendarDate(daysSince1970: Int(days)))
      let parts = date.parts
      guard parts == (year, month, day) else {
        Issue.record("\(days): \(parts), not \((year, month, day))")
        return
      }
      day += 1
      if day > CalendarDate.length(month: month, year: year) { (month, day) = (month + 1, 1) }
      if month > 12 { (year, month) = (year + 1, 1) }
    }
    #expect(year == 10_000)
  }

  @Test("A value fits a type only if nothing is lost; NaN, infinities and type names come back")
  func valuesFitTheirOwnTypeOnly() {
    #expect(Value.null.fits(.int) && Value.int(1).fits(.int) && !Value.double(1).fits(.int))
    // An int fits a double column only if the double is the same number.
    #expect(Value.int(1 << 53).fits(.double) && !Value.int(1 << 53 + 1).fits(.double))
    for special in [Double.nan, .infinity, -.infinity] {
      #expect(Value(spelling: Value.double(special).spelling, type: .double) == .double(special))
    }
    for type in ColumnType.allCases { #expect(ColumnType(name: type.name) == type) }
  }
}
