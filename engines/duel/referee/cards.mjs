// The deck of a round and the order of hands (statement: "Number cards consist of numbers from 1 to 20").

export const CARDS = 20;
const WIDTH = CARDS + 1;

// Rank of a hand by a * 21 + b: the ten pairs (n, n + 10) above all sums, then the units digit of the sum, then the
// bigger card (rulings 1 and 2). Two hands without a common card never rank the same.
const RANKS = new Int32Array(WIDTH * WIDTH);
for (let a = 1; a <= CARDS; a++) {
  for (let b = 1; b <= CARDS; b++) {
    const bigger = Math.max(a, b);
    const pair = Math.abs(a - b) === 10;
    RANKS[a * WIDTH + b] = (pair ? 10 : (a + b) % 10) * WIDTH + bigger;
  }
}

export function rank(a, b) {
  return RANKS[a * WIDTH + b];
}

export function newDeck() {
  return Int32Array.from({ length: CARDS }, (_, index) => index + 1);
}

// Brings four random cards to the front of the deck: two for seat 0, two for seat 1. The deck is a permutation of the
// cards in any order. A position is a 32-bit number scaled down, so that its bias is below 20 / 2^32.
export function deal(deck, next) {
  for (let position = 0; position < 4; position++) {
    const other = position + Math.floor((next() * (CARDS - position)) / 4294967296);
    const card = deck[other];
    deck[other] = deck[position];
    deck[position] = card;
  }
}
