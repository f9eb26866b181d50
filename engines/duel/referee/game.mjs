// One game: sets, rounds and turns as the statement and its rulings (README.md) have them.
import { CARDS, deal as dealCards, rank } from "cards.mjs";

export const NOBODY = -1;
export const COMPLETED = 0;
export const TIME_LIMIT = 1;
export const FORBIDDEN = 2;
export const CRASHED = 3;
export const TIMEOUT = 6;

// One round in so many is timed call by call; a set as a whole is always timed. Odd, because who moves first alternates.
const TIMED_ROUNDS = 7;
// A game ends in the middle of a set, and whoever has taken more time loses, at so many times its time limit.
const STALLED = 3;
// Where the parts of a packed number stand that deal() and endRound() of inside.js take.
const SECOND_SHIFT = 5;
const OP_SHIFT = 10;
const FIRST_TURN = 1 << 15;
const SHOWN_SHIFT = 16;
const WON = 3 << 21;
const LOST = 1 << 21;
const NO_RESULT = 0;

export class Game {
  // seats: doors of seats.mjs by seat; the bots have been created.    rules: the rule options.
  // next: the deck's random numbers.    deck: from cards.mjs.    out: { sets, rounds } to append to, rounds may be null.
  // number: of the game in its block.    beat: called now and then with the time.    log: null, or the Log of log.mjs.
  constructor(seats, rules, next, deck, out, number, beat, log) {
    this.seats = seats;
    // A function of another realm must not be called as a method, because the receiver would cross: (0, f)(...).
    this.deals = seats.map(({ deal }) => deal);
    this.turns = seats.map(({ turn }) => turn);
    this.ends = seats.map(({ endRound }) => endRound);
    this.rules = rules;
    this.next = next;
    this.deck = deck;
    this.out = out;
    this.number = number;
    this.beat = beat;
    this.log = log;

    this.first = 0;
    this.coins0 = 0;
    this.coins1 = 0;
    this.result0 = NO_RESULT; // of the last round, packed for seat 0, until it has been told
    this.result1 = NO_RESULT;
    this.sets = 0;
    this.setsWon = [0, 0];
    this.rounds = 0;
    this.roundsWon = [0, 0];
    this.turnCount = 0;
    this.folds = [0, 0];
    this.illegal = [0, 0];
    this.coinsHeld = [0, 0];

    this.cpu = process.cpuUsage();
    this.begun = 0;
    this.clock = 0;
    this.exact = [0, 0]; // ms in callbacks that are always timed
    this.sampled = [0, 0]; // ms in the calls of timed rounds
    this.inRounds = 0; // ms in all rounds
  }

  // Plays the game and returns its counts.
  play() {
    const { deck, log, rules, seats } = this;
    this.begun = this.clock = performance.now();
    // In order, so that a game does not depend on those before it.
    for (let index = 0; index < CARDS; index++) deck[index] = index + 1;
    // Ruling 7: drawn for the first round of a game, alternating after that, across sets.
    this.first = this.next() < 2147483648 ? 0 : 1;
    const firstSeat = this.first;
    this.both((seat) => {
      const { startGame } = seats[seat];
      startGame();
    });

    let termination = COMPLETED;
    while (this.sets < rules.sets && !this.cheated() && !this.stalled()) {
      // Statement: "If 20 seconds have passed at the end of the Set, the Game ends".
      if (this.sets > 0 && this.clock - this.begun >= 1000 * rules.time_limit_s) {
        termination = TIME_LIMIT;
        break;
      }
      this.playSet(this.sets);
      this.beat(this.clock);
    }

    // Ruling 10.
    const [won0, won1] = termination === TIME_LIMIT ? this.roundsWon : this.setsWon;
    let winner = won0 > won1 ? 0 : won1 > won0 ? 1 : NOBODY;
    this.both((seat) => {
      const { endGame } = seats[seat];
      endGame(outcome(winner, seat));
    });
    let fault = NOBODY;
    if (this.cheated()) {
      // Statement: "Any attempt to cheat ... will result in defeat."
      const [cheat0, cheat1] = seats.map(({ attempts }) => attempts() > 0);
      termination = FORBIDDEN;
      fault = cheat0 ? 0 : 1;
      winner = cheat0 && cheat1 ? NOBODY : 1 - fault;
    } else if (this.stalled()) {
      termination = TIMEOUT;
      fault = this.spent(0) > this.spent(1) ? 0 : 1;
      winner = 1 - fault;
    }
    return this.counts(firstSeat, winner, termination, fault);
  }

  counts(firstSeat, winner, termination, fault) {
    return {
      firstSeat,
      winner,
      sets: this.sets,
      setsWon: this.setsWon,
      rounds: this.rounds,
      roundsWon: this.roundsWon,
      turns: this.turnCount,
      folds: this.folds,
      illegal: this.illegal,
      coins: this.coinsHeld,
      termination,
      fault,
      microseconds: [0, 1].map((seat) => Math.round(1000 * this.spent(seat))),
    };
  }

  // Real time in ms that a seat has taken, estimated.
  spent(seat) {
    const sampled = this.sampled[0] + this.sampled[1];
    return this.exact[seat] + (sampled > 0 ? (this.sampled[seat] * this.inRounds) / sampled : 0);
  }

  // Whether the game has had so much CPU time that somebody delays it. (Real time can be the machine's fault.)
  stalled() {
    const limit = 1000 * STALLED * this.rules.time_limit_s;
    if (this.clock - this.begun < limit) return false;
    const { user, system } = process.cpuUsage(this.cpu);
    return (user + system) / 1000 >= limit;
  }

  cheated() {
    return this.seats.some(({ attempts }) => attempts() > 0);
  }

  // Does something for each seat in turn, timed, and shows what the bot has printed.
  both(action) {
    for (let seat = 0; seat < 2; seat++) {
      action(seat);
      this.lap(this.exact, seat);
      this.log?.printed(seat);
    }
  }

  lap(into, seat) {
    const read = performance.now();
    into[seat] += read - this.clock;
    this.clock = read;
  }

  playSet(set) {
    const { log, rules, seats } = this;
    const { rounds, turnCount, first } = this;
    const won0 = this.roundsWon[0];
    const [folds0, folds1] = this.folds;
    this.coins0 = this.coins1 = rules.coins;
    log?.setStarts(set);
    this.both((seat) => {
      const { startSet } = seats[seat];
      startSet();
    });
    const roundsBegun = this.clock;
    for (let round = 0; round < rules.rounds && this.coins0 > 0 && this.coins1 > 0; round++) {
      if (this.stalled()) break;
      this.playRound(set, round);
    }
    this.clock = performance.now();
    this.inRounds += this.clock - roundsBegun;

    const { coins0, coins1 } = this;
    const winner = coins0 > coins1 ? 0 : coins1 > coins0 ? 1 : NOBODY;
    if (winner !== NOBODY) this.setsWon[winner]++;
    this.coinsHeld[0] += coins0;
    this.coinsHeld[1] += coins1;
    this.sets++;
    const played = this.rounds - rounds;
    const won = this.roundsWon[0] - won0;
    this.out.sets.add(
      this.number, set, first, winner, coins0, coins1, played, won, played - won,
      this.turnCount - turnCount, this.folds[0] - folds0, this.folds[1] - folds1,
    );
    this.tellResults();
    log?.setEnds(winner, coins0, coins1);
    this.both((seat) => {
      const { endSet } = seats[seat];
      endSet(seat === 0 ? coins0 : coins1, outcome(winner, seat));
    });
  }

  playRound(set, round) {
    const { deck, first, log, coins0, coins1 } = this;
    const timed = this.rounds % TIMED_ROUNDS === 0;
    dealCards(deck, this.next);
    const a0 = deck[0];
    const b0 = deck[1];
    const a1 = deck[2];
    const b1 = deck[3];
    // Ruling 3.
    const less = coins0 < coins1 ? coins0 : coins1;
    const ante = this.rules.ante < less ? this.rules.ante : less;
    log?.roundStarts(round, coins0, coins1, deck, first, ante);

    const packed0 = a0 | (b0 << SECOND_SHIFT) | (a1 << OP_SHIFT) | (first === 0 ? FIRST_TURN : 0) | this.result0;
    const packed1 = a1 | (b1 << SECOND_SHIFT) | (a0 << OP_SHIFT) | (first === 1 ? FIRST_TURN : 0) | this.result1;
    if (timed) this.clock = performance.now();
    let answer;
    if (first === 0) {
      (0, this.deals[1])(coins1, packed1);
      if (timed) this.lap(this.sampled, 1);
      answer = (0, this.deals[0])(coins0, packed0);
    } else {
      (0, this.deals[0])(coins0, packed0);
      if (timed) this.lap(this.sampled, 0);
      answer = (0, this.deals[1])(coins1, packed1);
    }
    if (timed) this.lap(this.sampled, first);
    log?.printed(1 - first);

    let bet0 = ante;
    let bet1 = ante;
    let seat = first;
    let winner = NOBODY;
    let folded = false;
    const turnsBefore = this.turnCount;
    for (;;) {
      this.turnCount++;
      log?.printed(seat);
      const opBet = seat === 0 ? bet1 : bet0;
      // Ruling 5; a comparison with NaN is false.
      if (!(answer >= opBet && answer <= (seat === 0 ? coins0 : coins1) && Math.floor(answer) === answer)) {
        winner = 1 - seat;
        folded = true;
        this.folds[seat]++;
        if (answer !== -1) this.illegal[seat]++;
        log?.folds(seat, answer);
        break;
      }
      if (this.rules.cap_bets && answer > less) answer = less;
      log?.bets(seat, answer, opBet);
      if (seat === 0) bet0 = answer;
      else bet1 = answer;
      // Ruling 6.
      if (bet0 === bet1) {
        winner = rank(a0, b0) > rank(a1, b1) ? 0 : 1;
        break;
      }
      seat = 1 - seat;
      answer = seat === 0 ? (0, this.turns[0])(coins0, bet0, bet1) : (0, this.turns[1])(coins1, bet1, bet0);
      if (timed) this.lap(this.sampled, seat);
    }
    const turns = this.turnCount - turnsBefore;
    if (this.out.rounds !== null) this.recordRound(set, round, bet0, bet1, winner, folded, turns);
    this.settle(winner, winner === 0 ? bet1 : bet0, folded);
    if (timed) this.beat(this.clock);
  }

  recordRound(set, round, bet0, bet1, winner, folded, turns) {
    const { rounds } = this.out;
    const start = rounds.next();
    const row = rounds.data;
    row[start] = this.number;
    row[start + 1] = set;
    row[start + 2] = round;
    row[start + 3] = this.first;
    for (let index = 0; index < 4; index++) row[start + 4 + index] = this.deck[index];
    row[start + 8] = this.coins0;
    row[start + 9] = this.coins1;
    row[start + 10] = bet0;
    row[start + 11] = bet1;
    row[start + 12] = winner;
    row[start + 13] = folded ? 1 - winner : NOBODY;
    row[start + 14] = turns;
  }

  // Ruling 4: coins move when the round ends, and the loser's bet goes to the winner.
  settle(winner, moved, folded) {
    const { deck, log } = this;
    this.coins0 += winner === 0 ? moved : -moved;
    this.coins1 += winner === 0 ? -moved : moved;
    this.roundsWon[winner]++;
    this.rounds++;
    // Ruling 8: after a fold the opponent's second card stays hidden, shown as 0.
    this.result0 = (winner === 0 ? WON : LOST) | (folded ? 0 : deck[3] << SHOWN_SHIFT);
    this.result1 = (winner === 1 ? WON : LOST) | (folded ? 0 : deck[1] << SHOWN_SHIFT);
    this.first = 1 - this.first;
    if (log === null) return;
    log.roundEnds(winner, folded, moved, this.coins0, this.coins1);
    // At once, so that what the bots print stands beside the round that it is about.
    this.tellResults();
  }

  tellResults() {
    if (this.result0 === NO_RESULT) return;
    (0, this.ends[0])(this.coins0, this.result0);
    this.lap(this.exact, 0);
    this.log?.printed(0);
    (0, this.ends[1])(this.coins1, this.result1);
    this.lap(this.exact, 1);
    this.log?.printed(1);
    this.result0 = this.result1 = NO_RESULT;
  }
}

function outcome(winner, seat) {
  return winner === NOBODY ? 0 : winner === seat ? 1 : -1;
}
