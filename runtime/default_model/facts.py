"""The knowledge of the default model: plain tables, one line a group, written by hand.

Everything make_corpus.py can ask about is here or is computed (sums, counting, spelling).
"""


def pairs(text):
    """'a=b; c=d' -> [('a', 'b'), ('c', 'd')]; line breaks count as spaces."""
    entries = (entry for entry in " ".join(text.split()).split(";") if entry.strip())
    return [tuple(part.strip() for part in entry.split("=")) for entry in entries]


CAPITALS = {
    "Europe": pairs("""
        France=Paris; Spain=Madrid; Portugal=Lisbon; Italy=Rome; Germany=Berlin; Austria=Vienna;
        Switzerland=Bern; Belgium=Brussels; the Netherlands=Amsterdam; Luxembourg=Luxembourg City;
        the United Kingdom=London; England=London; Scotland=Edinburgh; Wales=Cardiff;
        Ireland=Dublin; Iceland=Reykjavik; Norway=Oslo; Sweden=Stockholm; Denmark=Copenhagen;
        Finland=Helsinki; Estonia=Tallinn; Latvia=Riga; Lithuania=Vilnius; Poland=Warsaw;
        the Czech Republic=Prague; Slovakia=Bratislava; Hungary=Budapest; Romania=Bucharest;
        Bulgaria=Sofia; Greece=Athens; Albania=Tirana; Serbia=Belgrade; Croatia=Zagreb;
        Slovenia=Ljubljana; Bosnia and Herzegovina=Sarajevo; Montenegro=Podgorica;
        North Macedonia=Skopje; Kosovo=Pristina; Moldova=Chisinau; Ukraine=Kyiv; Belarus=Minsk;
        Russia=Moscow; Malta=Valletta; Cyprus=Nicosia; Monaco=Monaco; Andorra=Andorra la Vella;
        Liechtenstein=Vaduz; San Marino=San Marino"""),
    "Asia": pairs("""
        China=Beijing; Japan=Tokyo; South Korea=Seoul; North Korea=Pyongyang; Mongolia=Ulaanbaatar;
        India=New Delhi; Pakistan=Islamabad; Bangladesh=Dhaka; Nepal=Kathmandu; Bhutan=Thimphu;
        Sri Lanka=Colombo; the Maldives=Male; Afghanistan=Kabul; Iran=Tehran; Iraq=Baghdad;
        Syria=Damascus; Lebanon=Beirut; Jordan=Amman; Israel=Jerusalem; Saudi Arabia=Riyadh;
        Yemen=Sanaa; Oman=Muscat; the United Arab Emirates=Abu Dhabi; Qatar=Doha; Bahrain=Manama;
        Kuwait=Kuwait City; Turkey=Ankara; Georgia=Tbilisi; Armenia=Yerevan; Azerbaijan=Baku;
        Kazakhstan=Astana; Uzbekistan=Tashkent; Turkmenistan=Ashgabat; Kyrgyzstan=Bishkek;
        Tajikistan=Dushanbe; Thailand=Bangkok; Vietnam=Hanoi; Laos=Vientiane; Cambodia=Phnom Penh;
        Myanmar=Naypyidaw; Malaysia=Kuala Lumpur; Singapore=Singapore; Indonesia=Jakarta;
        the Philippines=Manila; Brunei=Bandar Seri Begawan; Taiwan=Taipei; East Timor=Dili"""),
    "Africa": pairs("""
        Egypt=Cairo; Libya=Tripoli; Tunisia=Tunis; Algeria=Algiers; Morocco=Rabat;
        Mauritania=Nouakchott; Mali=Bamako; Niger=Niamey; Chad=N'Djamena; Sudan=Khartoum;
        South Sudan=Juba; Ethiopia=Addis Ababa; Eritrea=Asmara; Djibouti=Djibouti;
        Somalia=Mogadishu; Kenya=Nairobi; Uganda=Kampala; Rwanda=Kigali; Burundi=Gitega;
        Tanzania=Dodoma; Mozambique=Maputo; Malawi=Lilongwe; Zambia=Lusaka; Zimbabwe=Harare;
        Botswana=Gaborone; Namibia=Windhoek; South Africa=Pretoria; Lesotho=Maseru;
        Eswatini=Mbabane; Angola=Luanda; the Democratic Republic of the Congo=Kinshasa;
        the Republic of the Congo=Brazzaville; Gabon=Libreville; Cameroon=Yaounde;
        the Central African Republic=Bangui; Nigeria=Abuja; Benin=Porto-Novo; Togo=Lome;
        Ghana=Accra; Ivory Coast=Yamoussoukro; Liberia=Monrovia; Sierra Leone=Freetown;
        Guinea=Conakry; Guinea-Bissau=Bissau; Senegal=Dakar; the Gambia=Banjul;
        Burkina Faso=Ouagadougou; Cape Verde=Praia; Madagascar=Antananarivo;
        Mauritius=Port Louis; the Seychelles=Victoria"""),
    "North America": pairs("""
        the United States=Washington, D.C.; Canada=Ottawa; Mexico=Mexico City;
        Guatemala=Guatemala City; Belize=Belmopan; Honduras=Tegucigalpa; El Salvador=San Salvador;
        Nicaragua=Managua; Costa Rica=San Jose; Panama=Panama City; Cuba=Havana;
        Haiti=Port-au-Prince; the Dominican Republic=Santo Domingo; Jamaica=Kingston;
        the Bahamas=Nassau; Barbados=Bridgetown; Trinidad and Tobago=Port of Spain;
        Grenada=St. George's"""),
    "South America": pairs("""
        Brazil=Brasilia; Argentina=Buenos Aires; Chile=Santiago; Uruguay=Montevideo;
        Paraguay=Asuncion; Bolivia=Sucre; Peru=Lima; Ecuador=Quito; Colombia=Bogota;
        Venezuela=Caracas; Guyana=Georgetown; Suriname=Paramaribo"""),
    "Oceania": pairs("""
        Australia=Canberra; New Zealand=Wellington; Papua New Guinea=Port Moresby; Fiji=Suva;
        Samoa=Apia; Tonga=Nuku'alofa; Vanuatu=Port Vila; the Solomon Islands=Honiara"""),
}

LANGUAGES = pairs("""
    France=French; Spain=Spanish; Portugal=Portuguese; Italy=Italian; Germany=German;
    Austria=German; the Netherlands=Dutch; England=English; Ireland=English and Irish;
    Norway=Norwegian; Sweden=Swedish; Denmark=Danish; Finland=Finnish; Poland=Polish;
    Hungary=Hungarian; Romania=Romanian; Greece=Greek; Russia=Russian; Ukraine=Ukrainian;
    Turkey=Turkish; China=Chinese; Japan=Japanese; South Korea=Korean; Thailand=Thai;
    Vietnam=Vietnamese; Iran=Persian; Egypt=Arabic; Morocco=Arabic; Saudi Arabia=Arabic;
    Brazil=Portuguese; Mexico=Spanish; Argentina=Spanish; the United States=English;
    Australia=English; Israel=Hebrew""")

OPPOSITES = pairs("""
    hot=cold; big=small; large=small; tall=short; long=short; fast=slow; quick=slow; happy=sad;
    good=bad; old=young; new=old; young=old; light=dark; day=night; up=down; left=right; in=out;
    open=closed; full=empty; rich=poor; strong=weak; hard=soft; high=low; wet=dry; clean=dirty;
    early=late; near=far; easy=difficult; loud=quiet; noisy=quiet; heavy=light; thick=thin;
    fat=thin; wide=narrow; deep=shallow; hello=goodbye; yes=no; true=false; right=wrong; first=last;
    start=finish; begin=end; push=pull; give=take; buy=sell; win=lose; love=hate; friend=enemy;
    black=white; north=south; east=west; above=below; before=after; always=never; on=off;
    inside=outside; front=back; top=bottom; summer=winter; warm=cool; smooth=rough; sharp=dull;
    brave=afraid; kind=cruel; polite=rude; safe=dangerous; cheap=expensive; beautiful=ugly;
    alive=dead; asleep=awake; sweet=sour; boy=girl; man=woman; king=queen; brother=sister;
    father=mother; son=daughter; laugh=cry; remember=forget; arrive=leave; come=go; find=lose;
    question=answer; more=less; many=few; most=least; same=different; simple=complex; cold=hot;
    small=big; short=tall; slow=fast; sad=happy; bad=good; dark=light; night=day; down=up; out=in;
    closed=open; empty=full; poor=rich; weak=strong; soft=hard; low=high; dry=wet; dirty=clean;
    late=early; far=near; difficult=easy; quiet=loud; thin=thick; narrow=wide; shallow=deep;
    no=yes; false=true; wrong=right; last=first; end=beginning; pull=push; hate=love; enemy=friend;
    white=black; south=north; west=east; below=above; after=before; never=always; off=on;
    outside=inside; winter=summer; rough=smooth; ugly=beautiful; cheap=expensive; awake=asleep;
    tight=loose; visible=invisible; possible=impossible; war=peace; success=failure; rise=fall;
    public=private; ancient=modern; accept=refuse; attack=defend; increase=decrease; raw=cooked""")

COLOURS = pairs("""
    the sky=blue; grass=green; snow=white; blood=red; the sun=yellow; a banana=yellow;
    a lemon=yellow; an orange=orange; a carrot=orange; a pumpkin=orange; a strawberry=red;
    a tomato=red; a cherry=red; a fire engine=red; coal=black; the night sky=black; a crow=black;
    a raven=black; milk=white; salt=white; sugar=white; a polar bear=white; a swan=white;
    cotton=white; chocolate=brown; a brown bear=brown; wood=brown; soil=brown; coffee=brown;
    a leaf=green; a frog=green; a cucumber=green; broccoli=green; spinach=green; a lime=green;
    a pea=green; an emerald=green; a ruby=red; a sapphire=blue; the sea=blue; the ocean=blue;
    an elephant=grey; a mouse=grey; ash=grey; a rain cloud=grey; a flamingo=pink; a pig=pink;
    a lavender flower=purple; an eggplant=purple; a sunflower=yellow; butter=yellow; corn=yellow;
    gold=yellow; silver=grey; a zebra=black and white; a panda=black and white;
    a penguin=black and white; a ladybird=red; a rose=red; a canary=yellow; a chick=yellow;
    paper=white; a cloud=white; a fox=orange; a goldfish=orange; a blueberry=blue; a plum=purple;
    an apple=red or green; a stop sign=red; a lion=golden brown; charcoal=black; mustard=yellow;
    honey=golden yellow""")

MIXES = pairs("""
    red and yellow=orange; blue and yellow=green; red and blue=purple; red and white=pink;
    black and white=grey; yellow and blue=green; yellow and red=orange; blue and red=purple;
    white and black=grey; white and red=pink""")

DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
MONTHS = ("January February March April May June July August September October November "
          "December").split()
MONTH_DAYS = "31 28 31 30 31 30 31 31 30 31 30 31".split()
ORDINALS = ("first second third fourth fifth sixth seventh eighth ninth tenth eleventh "
            "twelfth").split()

SOUNDS = pairs("""
    a dog=woof; a cat=meow; a cow=moo; a sheep=baa; a pig=oink; a duck=quack; a horse=neigh;
    a rooster=cock-a-doodle-doo; a hen=cluck; a chicken=cluck; a lion=roar; a frog=ribbit;
    a bee=buzz; a snake=hiss; an owl=hoot; a mouse=squeak; a donkey=hee-haw; a goat=bleat;
    a wolf=howl; a bird=tweet; a crow=caw; a turkey=gobble; an elephant=trumpet; a bear=growl;
    a tiger=roar; a goose=honk; a pigeon=coo; a cricket=chirp""")

YOUNG = pairs("""
    dog=puppy; cat=kitten; cow=calf; sheep=lamb; horse=foal; pig=piglet; hen=chick; chicken=chick;
    duck=duckling; goose=gosling; goat=kid; lion=cub; bear=cub; tiger=cub; wolf=cub; fox=cub;
    kangaroo=joey; frog=tadpole; swan=cygnet; deer=fawn; owl=owlet; rabbit=kit; elephant=calf;
    whale=calf; eagle=eaglet; butterfly=caterpillar; seal=pup; koala=joey; giraffe=calf;
    fish=fry""")

LEGS = pairs("""
    a dog=4; a cat=4; a cow=4; a horse=4; a sheep=4; a pig=4; a lion=4; a mouse=4; an elephant=4;
    a frog=4; a bird=2; a chicken=2; a duck=2; a person=2; a human=2; an ostrich=2; a kangaroo=2;
    a spider=8; a scorpion=8; an ant=6; a bee=6; a fly=6; a butterfly=6; a beetle=6; an insect=6;
    a ladybird=6; a grasshopper=6; a snake=0; a fish=0; a worm=0; a crab=10; a lobster=10;
    a goat=4; a rabbit=4; a fox=4; a wolf=4; a tiger=4; a penguin=2; an owl=2; a whale=0;
    a table=4; a chair=4; an octopus=8""")

HOMES = pairs("""
    a bee=a hive; a bird=a nest; a dog=a kennel; a horse=a stable; a pig=a sty; a spider=a web;
    a rabbit=a burrow; a bear=a den; a fish=water; an ant=an anthill; a lion=a den; a cow=a barn;
    a fox=a den; a hen=a coop; a beaver=a lodge; a penguin=cold places near the sea;
    a camel=the desert; a polar bear=the Arctic; a monkey=the jungle; a whale=the ocean""")

FOODS = pairs("""
    a cow=grass; a horse=grass and hay; a rabbit=grass and carrots; a cat=fish and meat;
    a dog=meat and dog food; a lion=meat; a monkey=fruit; a panda=bamboo; a koala=eucalyptus leaves;
    a squirrel=nuts; a bird=seeds and worms; a frog=insects; a mouse=seeds and cheese; a shark=fish;
    a penguin=fish; an owl=mice; a sheep=grass; a bee=nectar; a caterpillar=leaves;
    a spider=insects""")

UNITS = pairs("""
    centimetres in a metre=100; millimetres in a centimetre=10; metres in a kilometre=1000;
    grams in a kilogram=1000; millilitres in a litre=1000; seconds in a minute=60;
    minutes in an hour=60; hours in a day=24; days in a week=7; weeks in a year=52;
    months in a year=12; days in a year=365; years in a decade=10; years in a century=100;
    inches in a foot=12; feet in a yard=3; cents in a dollar=100; pence in a pound=100;
    kilograms in a tonne=1000; years in a millennium=1000; days in a leap year=366;
    minutes in half an hour=30; bits in a byte=8; items in a dozen=12; eggs in a dozen=12;
    letters in the alphabet=26; days in a weekend=2; seasons in a year=4;
    millimetres in a metre=1000; degrees in a circle=360; colours in a rainbow=7;
    players in a football team=11; continents in the world=7; planets in the solar system=8;
    strings on a violin=4; strings on a guitar=6; wheels on a bicycle=2; wheels on a car=4;
    wheels on a tricycle=3; fingers on one hand=5; toes on two feet=10; cards in a deck=52;
    squares on a chess board=64; sides on a coin=2; faces on a dice=6; quarters in a whole=4;
    halves in a whole=2; vowels in English=5; states in the United States=50;
    teeth in an adult mouth=32; legs on a table=4; eyes on a face=2; keys on a piano=88;
    minutes in a day=1440""")

SIDES = pairs("""
    a triangle=3; a square=4; a rectangle=4; a pentagon=5; a hexagon=6; a heptagon=7; an octagon=8;
    a nonagon=9; a decagon=10; a circle=0; a rhombus=4; a trapezium=4; a parallelogram=4""")

PLURALS = pairs("""
    cat=cats; dog=dogs; book=books; car=cars; tree=trees; house=houses; apple=apples; day=days;
    boy=boys; girl=girls; box=boxes; bus=buses; fox=foxes; glass=glasses; dish=dishes;
    church=churches; watch=watches; baby=babies; city=cities; lady=ladies; party=parties;
    story=stories; fly=flies; country=countries; leaf=leaves; knife=knives; wife=wives; wolf=wolves;
    life=lives; half=halves; shelf=shelves; child=children; man=men; woman=women; person=people;
    foot=feet; tooth=teeth; goose=geese; mouse=mice; ox=oxen; sheep=sheep; fish=fish; deer=deer;
    potato=potatoes; tomato=tomatoes; hero=heroes; cherry=cherries; key=keys; toy=toys;
    monkey=monkeys; bird=birds; flower=flowers; chair=chairs; table=tables; river=rivers;
    star=stars; loaf=loaves; thief=thieves; berry=berries; puppy=puppies; pony=ponies;
    family=families; brush=brushes; class=classes; peach=peaches; sandwich=sandwiches; cactus=cacti;
    louse=lice""")

PAST = pairs("""
    go=went; come=came; see=saw; eat=ate; drink=drank; run=ran; sing=sang; swim=swam; write=wrote;
    read=read; take=took; give=gave; make=made; have=had; do=did; say=said; know=knew;
    think=thought; buy=bought; bring=brought; catch=caught; teach=taught; find=found; sleep=slept;
    keep=kept; feel=felt; leave=left; meet=met; sit=sat; stand=stood; speak=spoke; break=broke;
    drive=drove; fly=flew; grow=grew; draw=drew; begin=began; forget=forgot; get=got; win=won;
    lose=lost; send=sent; build=built; tell=told; hear=heard; fall=fell; wear=wore; choose=chose;
    ride=rode; throw=threw; walk=walked; play=played; jump=jumped; look=looked; help=helped;
    like=liked; live=lived; be=was; cook=cooked; paint=painted; talk=talked; work=worked;
    dance=danced; stop=stopped""")

COMPARE = pairs("""
    big=bigger; small=smaller; tall=taller; fast=faster; good=better; bad=worse; happy=happier;
    hot=hotter; cold=colder; old=older; young=younger; long=longer; short=shorter; strong=stronger;
    easy=easier; far=farther; heavy=heavier; light=lighter; loud=louder; pretty=prettier""")

HELLO = pairs("""
    hello in French=Bonjour; hello in Spanish=Hola; hello in Italian=Ciao; hello in German=Hallo;
    hello in Portuguese=Ola; thank you in French=Merci; thank you in Spanish=Gracias;
    thank you in Italian=Grazie; thank you in German=Danke; thank you in Portuguese=Obrigado;
    goodbye in French=Au revoir; goodbye in Spanish=Adios; goodbye in Italian=Arrivederci;
    goodbye in German=Auf Wiedersehen; yes in French=Oui; yes in Spanish=Si; yes in German=Ja;
    yes in Italian=Si; no in German=Nein; no in French=Non; cat in French=chat; dog in French=chien;
    cat in Spanish=gato; dog in Spanish=perro; water in Spanish=agua; water in French=eau;
    water in German=Wasser; house in Spanish=casa; house in German=Haus; friend in Spanish=amigo;
    friend in French=ami; one in Spanish=uno; one in French=un; one in German=eins;
    please in French=s'il vous plait; please in German=bitte; please in Spanish=por favor""")

KINDS = {
    "fruit": ("apple banana orange pear grape cherry peach plum mango lemon "
        "strawberry pineapple").split(),
    "vegetable": ("carrot potato onion cabbage broccoli spinach lettuce cucumber pea "
        "leek turnip").split(),
    "animal": ("dog cat horse cow lion tiger elephant rabbit fox bear wolf mouse "
        "giraffe monkey").split(),
    "bird": "eagle owl robin penguin duck swan parrot crow sparrow ostrich pigeon flamingo".split(),
    "fish": "salmon tuna trout cod shark goldfish sardine herring".split(),
    "insect": "bee ant fly beetle butterfly mosquito wasp ladybird grasshopper moth".split(),
    "colour": "red blue green yellow purple orange pink brown black white".split(),
    "tool": "hammer saw screwdriver spade drill wrench axe rake".split(),
    "musical instrument": "piano guitar violin drum flute trumpet harp cello".split(),
    "piece of clothing": "shirt coat hat sock jacket scarf dress sweater".split(),
    "piece of furniture": "chair table bed sofa desk wardrobe bookcase stool".split(),
    "vehicle": "car bus train bicycle truck boat plane tractor".split(),
    "shape": "circle square triangle rectangle hexagon pentagon oval".split(),
    "flower": "rose tulip daisy lily sunflower daffodil poppy orchid".split(),
    "tree": "oak pine birch willow maple elm beech fir".split(),
    "sport": "football tennis swimming basketball hockey rugby golf cricket".split(),
    "drink": "water milk tea coffee juice lemonade".split(),
    "metal": "iron gold silver copper tin lead zinc".split(),
    "planet": "Mercury Venus Earth Mars Jupiter Saturn Uranus Neptune".split(),
    "job": "doctor teacher farmer baker nurse pilot painter plumber".split(),
}

PLACES = pairs("""
    buy bread=a bakery; borrow books=a library; see a doctor=a hospital; learn=a school;
    catch a train=a train station; catch a plane=an airport; post a letter=a post office;
    watch a film=a cinema; see wild animals=a zoo; buy medicine=a pharmacy; swim=a swimming pool;
    see paintings=a museum; keep money=a bank; eat a meal out=a restaurant;
    sleep on holiday=a hotel; buy food=a supermarket; buy meat=a butcher's shop;
    park a car=a car park; play outside=a playground; see a play=a theatre""")

DEFINITIONS = pairs("""
    a dog=A dog is a friendly animal that many people keep as a pet;
    a cat=A cat is a small furry animal that many people keep as a pet;
    a library=A library is a place where you can read and borrow books;
    a school=A school is a place where children learn;
    a hospital=A hospital is a place where doctors and nurses help sick people;
    a bakery=A bakery is a shop that makes and sells bread and cakes;
    a museum=A museum is a place that shows old or interesting things;
    a farm=A farm is a place where people grow food and keep animals;
    a river=A river is a long stream of water that flows to the sea;
    a mountain=A mountain is a very high piece of land;
    an island=An island is land with water all around it;
    a desert=A desert is a very dry place with little rain;
    a forest=A forest is a large place full of trees;
    a volcano=A volcano is a mountain that can throw out hot melted rock;
    a planet=A planet is a large round body that travels around a star;
    a star=A star is a huge ball of hot gas that gives light;
    the moon=The moon is the round body that travels around the Earth;
    the sun=The sun is the star that gives the Earth light and heat;
    a rainbow=A rainbow is an arc of colours in the sky, made by sun and rain;
    a clock=A clock is a thing that shows the time;
    a calendar=A calendar is a chart of the days and months of a year;
    a map=A map is a drawing that shows where places are;
    a dictionary=A dictionary is a book that explains words;
    a computer=A computer is a machine that follows instructions and works with data;
    a robot=A robot is a machine that can do work by itself;
    a triangle=A triangle is a shape with 3 sides;
    a square=A square is a shape with 4 equal sides;
    a circle=A circle is a perfectly round shape;
    a fruit=A fruit is the sweet part of a plant that holds its seeds;
    a vegetable=A vegetable is a plant or part of a plant that we eat;
    bread=Bread is a food baked from flour and water;
    honey=Honey is a sweet food made by bees;
    milk=Milk is a white drink that comes from cows;
    ice=Ice is frozen water;
    rain=Rain is water that falls from the clouds;
    snow=Snow is soft white frozen water that falls from the clouds;
    wind=Wind is moving air;
    a cloud=A cloud is a mass of tiny drops of water in the sky;
    a poem=A poem is a short piece of writing, often with rhymes;
    a noun=A noun is a word for a person, a place or a thing;
    a verb=A verb is a word for an action, such as run or eat;
    an adjective=An adjective is a word that describes a thing, such as big or red;
    a friend=A friend is a person you like and trust;
    a doctor=A doctor is a person who helps sick people get well;
    a teacher=A teacher is a person who helps others learn;
    a farmer=A farmer is a person who grows food and keeps animals;
    a baker=A baker is a person who makes bread and cakes;
    a pilot=A pilot is a person who flies planes;
    a bicycle=A bicycle is a vehicle with 2 wheels that you move with your feet;
    a telephone=A telephone is a device for talking to people far away;
    a bridge=A bridge is a structure that lets you cross a river or a road;
    a penstock=A penstock is a pipe that carries water to a turbine;
    a language model=A language model is a program that predicts text, one token at a time;
    a token=A token is a small piece of text that a language model reads or writes;
    gravity=Gravity is the force that pulls things towards the Earth;
    electricity=Electricity is a kind of energy that powers lights and machines;
    an umbrella=An umbrella is a thing that keeps you dry in the rain;
    a spoon=A spoon is a tool for eating soup and other soft food;
    a key=A key is a small thing that opens a lock;
    a birthday=A birthday is the day of the year on which you were born""")
