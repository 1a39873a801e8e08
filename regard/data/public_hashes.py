"""The sha256 of the public corpora's content (of the text, not of its compressed form)."""

from __future__ import annotations

MULTI30K: dict[str, str] = {
    "raw/train.en.gz": "460a15fbd157e34a7a9957ee388c1ca247fe47af3ef25fb50442af6c274e0fc6",
    "raw/train.de.gz": "2c2b73fd2b548fbcde3a875e0a78d6ee94d498bfdee6bd3eae3945779e9ddf72",
    "raw/train.fr.gz": "5925a3c18f1587b6b54b87743106e6e8ab93618edb6f65d19eac0621f853a10d",
    "raw/val.en.gz": "1f2a23d992769b5b3d209b0a10dd0b77c08cceb1f20dfb97ed0aafa49d107227",
    "raw/val.de.gz": "660e09eb7e1da2f856ea13ee5ad3cf6d36b3d5b0b733c857e94c5747a3dfc660",
    "raw/val.fr.gz": "5304e444d842e962b2dda4d816b70b22a1765b15401642b7ca37a67477e708dc",
    "raw/test_2016_flickr.en.gz": "399a4382932c1aadd3ceb9bef1008d388a64c76d4ae4e9d4728c6f4301cac182",
    "raw/test_2016_flickr.de.gz": "4be6b5b3236b79c25475c6bb829800a7ce559e9ba7a1f6c2394fe4d40be46d16",
    "raw/test_2016_flickr.fr.gz": "cb3160d69b002bb638e66cc7612fcd56cb0af82eadc9c142dedc438afb885ef6",
    "tok/train.en.gz": "08925f8e0572bcd5a006702fc5fe20e2d77c6917d4eebd576fc20de6693c2119",
    "tok/train.de.gz": "cb5a23529b65ec2061f1dc446192a9c37382b63cc75f81a0be59d34894b3a505",
    "tok/train.fr.gz": "8fa41bb718412bcb7c5dfa58603842810a01543eae86a51279f9886b901266e1",
    "tok/val.en.gz": "46573ce391ae227f1c72f873392436a20ef18e0a6d518098cfbd70b77c8572ec",
    "tok/val.de.gz": "97232bd273eceb7207f689527386a97e4be2616b18ada47576bdaf96c8ae1f00",
    "tok/val.fr.gz": "b303e301aa21fe7822a846b2b3fb2d5a1121ec807cd5b1d006fb7b2b5507168a",
    "tok/test_2016_flickr.en.gz": "5b7f32627cf99eced828311b955dae9800bb52bc8b91cf8b6526829e605b29d2",
    "tok/test_2016_flickr.de.gz": "c6a33d39d48f9f510de147651316cd9d918e09ad0219df734a2f16b6baccacc4",
    "tok/test_2016_flickr.fr.gz": "1463bd5960f9bfe098ec3cd752d3df0c49c84dc646fb518964a29232658cd836",
}

TATOEBA: dict[str, dict[str, str]] = {
    "tatoeba-zh-en": {
        "train.zh.gz": "94e6317d79b16bac33a110214822ed5b3f6e81c021824bf136b9e72faaf501b6",
        "train.en.gz": "67def2c1717b03c71bc5f0af15c8f437bd1aa34af7ca1320ce62bca044e7b0a3",
        "valid.zh.gz": "5187e102b5d3333725bea000e38d2256a6f368a469624f1347300ed473b4181c",
        "valid.en.gz": "cb433ef4345de9018baf4b517808096656fc0b9ce77ecb32f127750b8e404e57",
        "test.zh.gz": "91fac96d79a2a8793c1de68e531f4249eb8e71b101bebc5b9d7f5f66daba4b81",
        "test.en.gz": "3bf6f14d0d25a1644265c7e6f04993b452191805d794296d0c458b7a6ab562fc",
    },
    "tatoeba-de-en": {
        "train.de.gz": "3841533f292be8c7a65ebed16450258ba7ed53bbbbffd454e7df806a5ade62cf",
        "train.en.gz": "77a4fd6d5b05fa473df79fe425987b3a8cf1c69aecf545bfe836c2c5627bb436",
        "valid.de.gz": "91a8b57eeb0b27941f67ea69463178e6c2a653724aff5e70ef50cedd41d63890",
        "valid.en.gz": "308a6aa193a03049f2a5909d988b71679494dcd81d92052d8c1227a1925a1460",
        "test.de.gz": "7a9565a5613b2b4ac3f55c5e0bff086b42a88bb804eacf4055d264f3deedfd44",
        "test.en.gz": "f51bff2622db1590b4a6e346400417ab2946db69b21002eae9da8a0874f96f26",
    },
}
