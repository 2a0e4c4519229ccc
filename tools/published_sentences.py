"""Sentences and words for the tables of published numbers, written before a model was asked.

Each word that is looked for stands in its sentence once and is one piece of the vocabulary;
`published_tables.py` checks it.
"""

MONTHS = [
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
]  # fmt: skip
DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
JOURNEY = "Your journey starts with one step."
QUEEN = "The queen lost her ring and she bought another ring."

# Chapter 2: both senses of bark, and the words that stand for each.
DOG_WORDS = ["dog", "puppy", "howl", "growl"]
TREE_WORDS = ["tree", "trunk", "wood", "leaf"]
BARK = {
    "dog": [
        "The bark of the wolf was loud.",
        "We heard the bark of a hound.",
        "The hound has a rough bark.",
        "That bark came from the wolf.",
    ],
    "tree": [
        "The bark of the oak was thick.",
        "We touched the bark of an oak.",
        "The birch has a rough bark.",
        "That bark came from the pine.",
    ],
}
FOX = "The bark of the fox was loud."  # ends on the wrong side
SWAP = "That bark came from the {}."
ANIMALS = [
    "wolf",
    "fox",
    "cat",
    "bear",
    "lion",
    "tiger",
    "horse",
    "cow",
    "sheep",
    "pig",
    "goat",
    "deer",
    "rabbit",
    "mouse",
    "rat",
    "elephant",
    "monkey",
    "bird",
    "hound",
]
TREES = [
    "oak",
    "pine",
    "birch",
    "beech",
    "elm",
    "ash",
    "maple",
    "cedar",
    "willow",
    "fir",
    "cypress",
    "palm",
    "apple",
    "cherry",
    "walnut",
    "olive",
    "spruce",
]

# Chapter 2: five uses of one.
ONE = {
    "a number": [
        "Add one to the sum and write the result down.",
        "The number after zero is one.",
        "Seven minus six is one.",
        "The score was three to one.",
        "Count backwards from ten to one.",
        "Chapter one begins on this page.",
    ],
    "a person": [
        "In summer one can see the stars here.",
        "One should not lie to a friend.",
        "From the tower one sees the sea.",
        "In such a place one never feels alone.",
        "One learns a language by speaking.",
        "If one reads slowly, one remembers more.",
    ],
    "stands for a noun": [
        "My coat is old and I need a new one.",
        "This apple is sweet but that one is sour.",
        "The red car is faster than the blue one.",
        "Of all the songs I like this one best.",
        "The big dog barked and the small one slept.",
        "Her first book was good and the last one was better.",
    ],
    "some day": [
        "We will meet again one day.",
        "She left early one morning.",
        "One evening a stranger came to the door.",
        "One night the river froze.",
        "They met in Paris one summer.",
        "One afternoon the boys went fishing.",
    ],
    "a single": [
        "He carried the box with one hand.",
        "There is only one road to the village.",
        "She drank the water in one gulp.",
        "We have just one chance to win.",
        "All of them fit into one room.",
        "The shop has one window and no door.",
    ],
}

# Chapters 3 and 6: sentence, verb, object. Place and distance of the object vary, and in the last
# six it comes first. (In two earlier lists it was mostly the last word, or three words on: then an
# untrained head, or that rule, finds most of them, and the list tests nothing.)
OBJECTS = [
    ("She wrote letters to her aunt.", "wrote", "letters"),
    ("They sell bread at the corner.", "sell", "bread"),
    ("Birds eat insects in the field.", "eat", "insects"),
    ("My uncle repairs clocks in his shop.", "repairs", "clocks"),
    ("In this valley farmers grow corn.", "grow", "corn"),
    ("The old man never drinks wine in summer.", "drinks", "wine"),
    ("The dog chased the cat through the garden.", "chased", "cat"),
    ("The boy quickly opened the door of the house.", "opened", "door"),
    ("The king built a castle on the hill.", "built", "castle"),
    ("In the dark we heard a noise behind the wall.", "heard", "noise"),
    ("The girl caught a fish with a net.", "caught", "fish"),
    ("The workers dug a hole in the garden.", "dug", "hole"),
    ("On the train I forgot my umbrella.", "forgot", "umbrella"),
    ("Nobody in the village believed the story.", "believed", "story"),
    ("Last night the cook burned the fresh bread.", "burned", "bread"),
    ("Two men carried the heavy table into the kitchen.", "carried", "table"),
    ("The storm destroyed several wooden houses near the coast.", "destroyed", "houses"),
    ("A stranger stole her expensive camera at the station.", "stole", "camera"),
    ("The doctor examined the sick child in the morning.", "examined", "child"),
    ("The soldiers crossed the wide river at night.", "crossed", "river"),
    ("The mayor of the town opened a new bridge.", "opened", "bridge"),
    ("From the roof the cat watched the little mouse.", "watched", "mouse"),
    ("She closed the small round window before dinner.", "closed", "window"),
    ("The farmer sold his old grey horse to a neighbour.", "sold", "horse"),
    ("My sister wrote a very long letter.", "wrote", "letter"),
    ("At the party she wore a beautiful red dress.", "wore", "dress"),
    ("The pilot landed his badly damaged plane on a road.", "landed", "plane"),
    ("The artist drew three very small birds on the wall.", "drew", "birds"),
    ("Our teacher explained the first difficult rule to the class.", "explained", "rule"),
    ("The hunter with the dog followed a large wounded deer.", "followed", "deer"),
    ("He bought a very old wooden chair in town.", "bought", "chair"),
    ("The company built two large and ugly houses here.", "built", "houses"),
    ("A thief hid all of the stolen money under a stone.", "hid", "money"),
    ("The waiter brought a plate of cold soup.", "brought", "plate"),
    ("The letter that my sister wrote was long.", "wrote", "letter"),
    ("The fish that the girl caught was too small.", "caught", "fish"),
    ("The song which the children sang was sad.", "sang", "song"),
    ("I know the house that he built.", "built", "house"),
    ("The money that the thief stole was never found.", "stole", "money"),
    ("We liked the bread which the old baker sold.", "sold", "bread"),
]

# Chapter 6: a word that comes twice.
TWICE = [
    ("He sold one house and built another house.", "house"),
    ("The first road was longer than the second road.", "road"),
    ("A good book is better than a bad book.", "book"),
    ("Every day she fed the dog and walked the dog.", "dog"),
    ("The river here is wider than the river there.", "river"),
    ("My friend met your friend in town.", "friend"),
    ("The old bridge stands beside the new bridge.", "bridge"),
    ("Some birds sleep while other birds sing.", "birds"),
    ("The door of the kitchen and the door of the cellar were open.", "door"),
    ("One child cried because another child laughed.", "child"),
    ("I drank my tea and he drank cold tea.", "tea"),
    ("The king feared no king.", "king"),
]

# Chapter 6: she and he for two people, in both orders.
PEOPLE = [
    ("queen", "boy"), ("girl", "king"), ("mother", "uncle"), ("aunt", "father"),
    ("sister", "brother"), ("woman", "man"), ("daughter", "son"), ("wife", "husband"),
    ("princess", "prince"), ("actress", "waiter"), ("nun", "monk"), ("bride", "groom"),
    ("grandmother", "grandfather"), ("lady", "soldier"), ("nurse", "emperor"), ("widow", "duke"),
]  # fmt: skip
TOLD = "The {} told the {} that {} was tired."
FRONT = "girl", "king"  # one of the pairs: the front page

# Chapter 9: words with two senses, four sentences each.
SENSES = {
    "bank": (
        ["The bank of the river was muddy.", "We sat on the bank and fished in the stream.",
         "The boat reached the bank of the lake.", "Reeds grow along the bank of the canal."],
        ["She put her money in the bank.", "The bank raised its interest rates.",
         "He works as a clerk at the bank.", "The bank refused to give us a loan."],
    ),
    "bat": (
        ["A bat flew out of the cave at night.", "The bat hung upside down and slept.",
         "The bat eats insects.", "A small bat lives in our roof."],
        ["He hit the ball with a bat.", "The player swung the wooden bat.",
         "She bought a baseball bat.", "The bat broke when he struck the ball."],
    ),
    "spring": (
        ["In spring the flowers bloom.", "The spring was warm after a cold winter.",
         "Birds return in spring.", "We plant potatoes every spring."],
        ["The spring in the watch is broken.", "A metal spring pushed the lid open.",
         "Compress the spring and let it go.", "The mattress has a loose spring."],
    ),
    "saw": (
        ["I saw a film.", "We saw the sea yesterday.", "She saw him at the station.",
         "They saw a deer in the forest."],
        ["He cut the wood with a saw.", "The saw is in the toolbox.", "A sharp saw and a hammer.",
         "The carpenter bought a new saw."],
    ),
    "light": (
        ["The lamp gives a warm light.", "Turn off the light before you sleep.",
         "The light of the sun fills the room.", "We saw a light in the distance."],
        ["The suitcase is light and easy to carry.", "Feathers are very light.",
         "This bag is so light that a child can lift it.", "Aluminium is a light metal."],
    ),
    "match": (
        ["He lit the candle with a match.", "She struck a match in the dark.",
         "The match burned his finger.", "A wet match does not burn."],
        ["Our team won the match.", "The football match ended in a draw.",
         "They watched the tennis match.", "The match was cancelled because of rain."],
    ),
    "right": (
        ["Turn right at the corner.", "He raised his right hand.", "The door on the right is open.",
         "Keep to the right side of the road."],
        ["Your answer is right.", "She was right about the weather.", "It is not right to steal.",
         "You did the right thing."],
    ),
    "plant": (
        ["Water the plant every day.", "The plant needs light and soil.",
         "A green plant stood on the windowsill.", "This plant has yellow flowers."],
        ["The car plant employs a thousand workers.", "The plant produces steel.",
         "They closed the chemical plant.", "The power plant burns coal."],
    ),
    "letter": (
        ["She wrote a letter to her aunt.", "The postman brought a letter.",
         "He opened the letter and read it.", "I sent the letter last week."],
        ["The first letter of the alphabet is A.", "Write the word with a capital letter.",
         "Which letter comes after B?", "The word begins with the letter S."],
    ),
    "ring": (
        ["She wore a gold ring on her finger.", "He gave her a diamond ring.",
         "The ring was too small for her hand.", "My wedding ring is lost."],
        ["I heard the phone ring.", "Please ring the bell twice.", "The bells ring at noon.",
         "Let it ring a few times."],
    ),
    "leaves": (
        ["The leaves turn red in autumn.", "Green leaves covered the tree.",
         "He swept the fallen leaves.", "Dry leaves rustle in the wind."],
        ["The train leaves at nine.", "She leaves the house early.",
         "He leaves his keys on the table.", "Our bus leaves soon."],
    ),
    "wave": (
        ["A big wave hit the beach.", "The surfer rode a wave.", "A wave washed over the deck.",
         "The ship rose on a high wave."],
        ["She gave us a friendly wave.", "They wave to the crowd.", "Wave goodbye to your friends.",
         "He greeted her with a wave of the hand."],
    ),
}  # fmt: skip

# Chapter 9: countries and capitals that are one piece for SmolLM2.
CAPITALS = {
    "France": "Paris", "Germany": "Berlin", "Italy": "Rome", "Spain": "Madrid",
    "Russia": "Moscow", "Japan": "Tokyo", "England": "London", "Austria": "Vienna",
    "Greece": "Athens", "Ireland": "Dublin", "Portugal": "Lisbon", "Cuba": "Havana",
    "Egypt": "Cairo", "Kenya": "Nairobi", "China": "Beijing", "Poland": "Warsaw",
}  # fmt: skip
CAPITAL = "The capital of {} is"
SUBJECTS = ["The book that the boy read was long.", "The man that the dog bit cried."]
