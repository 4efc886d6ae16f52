"""List the commands of all packages of Salon, the absent ones too."""

COMMANDS = {
    "salon-arena": {
        "arena": "Let people compare pictures or videos in a browser: blind, one key per vote, every vote kept once.",
    },
    "salon-bench": {
        "bench": "Judge a folder of pictures with a suite and any vision-language model; every row lands in a store.",
        "refine": "Let a judge and an editor improve a picture, round by round, until it shows what was asked for.",
        "results": "Look at finished runs: report pages, comparisons, leaderboards, reliability, tables.",
        "view": "Look at a store in the browser: runs while they go on, pictures with verdicts and replies, leaderboards.",
    },
    "salon-console": {
        "completion": "Print the script that completes salon's commands and options in a shell.",
        "doctor": "Check the installation: packages, extras, and whether each package can work on this machine.",
        "taxonomy": "Label trees: what can be wrong with a picture, or what a prompt demands.",
    },
    "salon-curate": {
        "curate": "Build an image data set with judges: stages over shards, selections, audits, a release.",
    },
    "salon-judges": {},
    "salon-published": {
        "papers": "Show what five papers and 76 repositories publish about generators, checked against itself and ranked.",
        "quickstart": "Rank 441 generators of pictures, edits and videos by everything that 80 sources publish about them.",
    },
    "salon-ranking": {
        "ratings": "Evaluate what people say of single pictures: marks (mean opinion scores) and yes/no checks.",
        "votes": "Turn votes between two pictures into a leaderboard, plan the next ones, and check who cast them.",
    },
    "salon-rewards": {
        "reward": "Score answers the way a trainer pays for them.",
    },
    "salon-store": {
        "store": "Keep every score, battle and rating in one directory, and ask it questions in SQL.",
    },
    "salon-synthetic": {
        "synthetic": "Draw pictures and videos with exact truth: scenes, artifacts.",
    },
    "salon-taxonomy": {},
    "salon-train": {
        "train": "Train assessors and refiners on the scores that benchmarks report.",
    },
}
"""Every command of Salon by the package that brings it, with its help in short: one whose package is absent can be
explained, and all can be listed without importing them. A test holds the words to those of the commands themselves.
"""
