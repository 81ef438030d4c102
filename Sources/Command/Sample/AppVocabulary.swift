/// The words that names of apps are made of.
enum AppVocabulary {
  static let words = WordTable(
    text: """
      Account Action Active Adventure Agenda Air Alarm Album Alert Alive Alpha Amazing Ancient Angel \
      Animal Anime App Apple Arcade Archer Arena Army Arrow Art Assistant Astro Atlas Attack Audio \
      Aurora Auto Avatar Baby Backup Badge Bakery Balance Ball Balloon Band Bank Bar Barber Base \
      Baseball Basket Battery Battle Bay Beach Bead Bear Beat Beauty Bee Bell Best Bible Big Bike \
      Bill Billiard Bingo Bird Birthday Black Blast Blaze Block Blog Blood Bloom Blossom Blue Board \
      Boat Body Bold Bomb Book Booster Border Boss Bottle Bowl Box Brain Brave Bread Breaker Bridge \
      Bright Browser Brush Bubble Bucket Budget Buddy Builder Bunny Burger Bus Business Butterfly \
      Buyer Cable Cafe Cake Calculator Calendar Call Caller Camera Camp Canal Candle Candy Canvas \
      Car Card Care Career Cargo Carpet Cartoon Case Cash Castle Casual Cat Catalog Cell Center \
      Chain Challenge Champion Change Channel Charge Chart Chase Chat Check Chef Chess Child Choice \
      Christmas Circle City Class Classic Clean Cleaner Clear Click Climb Clinic Clock Cloud Clown \
      Club Coach Coast Code Coffee Coin Collage Collection College Color Comet Comic Command Compass \
      Connect Contact Control Converter Cook Cookie Cool Copter Coral Core Corner Cosmic Counter \
      Country Coupon Course Court Cover Cowboy Craft Crane Crash Crazy Cream Creator Credit Cricket \
      Cross Crossword Crown Cruise Crush Crystal Cube Cupcake Currency Cut Cute Cycle Daily Dance \
      Dark Dash Data Date Dating Dawn Day Deal Deck Deep Deer Defense Delivery Delta Demo Dental \
      Desert Design Desk Detector Device Diamond Diary Dice Dictionary Diet Digital Diner Dinosaur \
      Direct Dirt Discount Discovery Dish Disk Diver Doctor Dog Doll Dollar Dolphin Domino Donut \
      Door Doodle Double Down Dragon Draw Dream Dress Drift Drink Drive Driver Drone Drop Drum Duck \
      Duel Dungeon Dust Eagle Early Earth East Easy Echo Eclipse Edge Editor Egg Electric Element \
      Elephant Elite Email Emerald Emoji Empire Energy Engine English Epic Epoch Escape Europe Event \
      Evolution Exam Exchange Exotic Expense Expert Explorer Express Extra Extreme Eye Fabric Face \
      Factory Fairy Falcon Fall Family Fantasy Farm Farmer Fashion Fast Father Feast Feed Fern \
      Festival Fever Field Fight Fighter File Film Filter Finance Finder Finger Fire First Fish \
      Fitness Flag Flame Flappy Flash Flat Flight Flip Float Flow Flower Fluid Flute Fly Focus Food \
      Football Force Forecast Forest Forge Fortune Forum Fox Frame Freedom Fresh Friend Frog Frost \
      Frozen Fruit Fuel Fun Fusion Future Galaxy Gallery Gamer Garage Garden Gas Gate Gecko Gem \
      Genius Ghost Giant Gift Girl Glass Globe Glow Goal Goat Gold Golden Golf Grade Grand Graph \
      Gravity Great Green Grid Grill Grocery Ground Group Guard Guide Guitar Gun Gym Hair Halloween \
      Hammer Hand Handy Happy Harbor Harvest Hawk Health Heart Heat Helicopter Hello Helper Hero \
      Hidden High Highway Hill Hip History Hit Hobby Hockey Holiday Home Honey Hood Hope Horizon \
      Horse Hospital Hot Hotel Hour House Hub Hunt Hunter Ice Icon Idea Idle Image Impact Index \
      Infinity Ink Insta Instant Invest Invoice Iron Island Ivory Jam Jazz Jelly Jet Jewel Job Joke \
      Journal Journey Joy Juice Jump Jungle Junior Karaoke Karate Kart Keeper Key Keyboard Kick Kid \
      Kids King Kingdom Kitchen Kite Knife Knight Knot Lab Label Lake Lamp Land Language Laser Last \
      Launcher Law Leaf League Learn Lemon Lens Letter Level Library Life Light Lime Line Lion Lips \
      Liquid List Live Loan Local Locator Lock Logic Logo Loop Lotto Love Luck Lucky Lunar Lunch \
      Machine Magazine Magic Magnet Mail Makeup Maker Mall Manager Mango Mania Map Marble Market \
      Mask Master Match Math Maze Meal Measure Medical Meditation Medieval Meet Mega Melody Member \
      Memo Memory Menu Merge Message Messenger Metal Meter Metro Micro Middle Mile Milk Mind Mine \
      Miner Mini Mirror Mission Mix Mobile Model Modern Moment Money Monitor Monkey Monster Moon \
      Morning Motion Moto Motor Mountain Mouse Movie Music Mystery Nail Name Nature Navigator Nearby \
      Neon Nest Net Network New News Night Ninja Nitro Noble Noise North Note Notebook Notes Number \
      Nurse Nut Oasis Ocean Offer Office Offline Oil Old Olive Omega Online Open Orange Orbit Order \
      Organizer Origin Outdoor Owl Pack Page Paint Palace Palette Palm Panda Panel Paper Parade \
      Parent Park Parking Party Passport Password Path Patrol Pattern Paws Payment Peak Pearl Pencil \
      Penguin People Perfect Pet Phone Photo Physics Piano Picnic Picture Pilot Pin Pink Pipe Pirate \
      Pixel Pizza Place Plan Planet Planner Plant Play Player Pocket Podcast Poem Point Poker Polar \
      Police Polish Poll Pony Pool Pop Popcorn Port Portal Poster Potato Power Prayer Premium \
      Princess Print Prison Private Prize Profile Project Protect Pulse Pump Puppy Purple Push Puzzle \
      Quantum Queen Quest Quick Quiet Quiz Quote Rabbit Race Racer Racing Radar Radio Rail Rain \
      Rainbow Ranch Random Ranger Rapid Reader Real Rebel Receipt Recipe Record Recorder Red Relax \
      Reminder Remote Rent Rescue Restaurant Retro Rider Ring Ringtone Rise River Road Robot Rocket \
      Rocky Roller Room Root Rope Rose Route Royal Ruby Rugby Rule Rumble Run Runner Rush Safari Safe \
      Sail Salad Sale Salon Sand Santa Sapphire Satellite Save Saver Scan Scanner Schedule School \
      Science Score Scout Scratch Screen Sea Search Season Secret Security Seed Selfie Sense Shadow \
      Shake Shape Share Shark Sheep Shelf Shell Shield Shift Ship Shoe Shooter Shop Shopping Short \
      Shot Show Signal Silent Silver Simple Simulator Singer Skate Sketch Ski Skill Skin Sky Slam \
      Sleep Slice Slide Slim Slot Smart Smile Smoke Smooth Snack Snake Snap Sniper Snow Soccer Social \
      Soda Soft Solar Soldier Solitaire Solo Song Sonic Soul Sound Soup South Space Spark Speak Speed \
      Spell Spider Spin Spiral Spirit Splash Spoon Sport Spot Spring Square Squad Stack Stadium Stage \
      Star Start Station Status Steel Stick Sticker Stock Stone Stop Store Storm Story Strategy \
      Street Strike String Studio Study Stunt Style Subway Sudoku Sugar Summer Summit Sun Sunny \
      Sunset Super Surf Surprise Survival Sushi Swan Sweet Swift Swim Switch Sword Symbol Sync System \
      Table Tablet Tag Talk Tank Tap Target Task Taxi Tea Teacher Team Tennis Test Text Theater Theme \
      Thunder Ticket Tiger Tile Time Timer Tiny Tip Toddler Toon Top Torch Touch Tour Tower Town Toy \
      Track Tracker Tractor Trade Traffic Trail Train Trainer Transit Translator Trap Travel Treasure \
      Tree Trick Trip Trivia Tropical Truck True Tube Tuner Turbo Turtle Twin Twist Ultimate Ultra \
      Uncle Unicorn Union Unit Universe Urban Vacation Valley Vault Vector Vegan Velvet Video View \
      Village Violin Viper Virtual Vision Voice Volcano Volume Voyage Wagon Walk Walker Wall Wallet \
      Wallpaper War Warrior Wash Watch Water Wave Way Weather Web Wedding Week Weight West Whale Wheel \
      Whisper White Wild Wind Window Wine Wing Winner Winter Wireless Wise Wizard Wolf Wonder Wood \
      Word Work Workout World Worm Wrench Writer Yard Year Yellow Yoga Young Zebra Zen Zero Zigzag \
      Zodiac Zombie Zone Zoo Zoom
      """)

  static let joiners = WordTable(
    text: "_for_ _for_ _for_ _and_ _and_ _&_ _&_ _of_ _of_ _of_the_ _with_ _in_ _to_ _by_ _vs_ _-_")

  static let suffixes = WordTable(
    text: """
      _Pro _Pro _HD _Free _Free _Lite _2018 _2018 _2017 _2 _3 _3D _3D _Plus _Premium _VR _GO _Game \
      _App _Mobile _Live_Wallpaper _(Beta) _(Free) _- _Tablet _Widget _Theme _™ ™ ® + ! _FREE _FM _TV \
      _Online _Offline _Deluxe _Ultimate _Keyboard _Launcher _Simulator _Wallpapers _by_Day _–_Lite \
      _Android _for_Kids _Edition _X _II _24/7 _No_Ads _Unlocker
      """)

  static let emoji = WordTable(
    text: "💎 ❤ 🔥 ⭐ 🎮 😍 📷 🎵 ✔ 💕 🐱 🌸 🚀 🏆 👻 ⚽ 🎃 ♥ 🦄 🍀")

  /// Words of other languages, with the letters that are two bytes or three in UTF-8.
  static let foreign = WordTable(
    text: """
      Cámara Diseño Música España Niños Fútbol Canción Diccionario Relación Corazón Météo Français \
      Élysée Crédit Société Santé Été Forêt Über Größe Müller Straße Schlüssel Grün Bücher Ação \
      Coração Notícias Português Educação Açúcar İstanbul Türkçe Şarkı Günlük Çocuk Piłka Język Żółw \
      Łódź Přání Čeština Hudební Řidič Погода Карта Игра Слова Музыка Новости Книга Переводчик Любовь \
      Город Время Деньги Ελληνικά Ραδιόφωνο Παιχνίδι Καιρός Việt Tiếng Nhạc Bản_đồ
      """)

  /// Characters of languages written without spaces: three bytes each in UTF-8.
  static let ideographs = WordTable(
    text: """
      日 本 語 漫 画 乗 換 案 内 天 気 無 料 英 和 辞 典 電 話 帳 音 楽 写 真 加 工 地 図 新 聞 占 い 恋 愛 の \
      ゲ ー ム ア プ リ ニ ュ ス カ メ ラ を 読 む し ま う で す 中 国 文 学 习 游 戏 大 全 小 说 影 视 频 \
      手 机 助 手 美 食 旅 行 한 국 어 사 전 무 료 게 임 사 진 음 악 날 씨 지 도 뉴 스 만 화 영 어 배 우 기
      """)

  // MARK: Parts of made-up brands

  static let onsets = WordTable(
    text: """
      b c d f g h j k l m n p r s t v w x y z b c d f g k l m n p r s t v z bl br ch cl cr dr fl fr \
      gl gr kr pl pr qu sh sk sl sn sp st str sw tr tw
      """)
  static let nuclei = WordTable(text: "a e i o u a e i o a e i o ai ea ee io oo ou y")
  static let codas = WordTable(
    text: "b ck d ft g k l m n n nd ng nt p r r rd rn rt s sh ss st t th v x z ly ra no")
}
