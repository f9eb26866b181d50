// One game: sets, rounds and turns as the statement and its rulings (README.md) have them.
import { CARDS, deal as dealCards, rank } from "cards.mjs";

export const NOBODY = -1;
export const COMPLETED = 0;
export const TIME_LIMIT = 1;
export const FORBIDDEN = 2;
export const CRASHED = 3;

// One round in so many is timed call by call; a set as a whole is always timed. Odd, because who moves first alternates.
const TIMED_ROUNDS = 7;
const NO_RESULT = 0;

// Plays a game between the bots at two seats; they have been created.
//
// seats: doors of seats.mjs by seat.    rules: the rule options.    next: the deck's random numbers.
// deck: from cards.mjs; put in order here, so that a game does not depend on those before it.
// out: { sets, rounds }: Rows to append to, `rounds` may be null.    game: the number of the game in its block.
// beat: called after each set.    log: null, or the Log of log.mjs.
//
// Returns the game's counts; see the end of this function.
export function playGame(seats, rules, next, deck, out, game, beat, log) {
  const [seat0, seat1] = seats;
  const deals = [seat0.deal, seat1.deal];
  const turns = [seat0.turn, seat1.turn];
  const ends = [seat0.endRound, seat1.endRound];
  const { sets: maxSets, rounds: maxRounds, coins: startCoins, ante, cap_bets: cap } = rules;
  const deadline = 1000 * rules.time_limit_s;

  const setsWon = [0, 0];
  const roundsWon = [0, 0];
  const folds = [0, 0];
  const illegal = [0, 0];
  const coinsHeld = [0, 0];
  const exact = [0, 0]; // ms in callbacks that are timed always
  const sampled = [0, 0]; // ms in the calls of timed rounds
  let untimed = 0; // ms in rounds
  let sets = 0;
  let rounds = 0;
  let turnCount = 0;
  let termination = COMPLETED;
  let fault = NOBODY;
  let clock = performance.now();
  const begun = clock;

  const lap = (into, seat) => {
    const read = performance.now();
    into[seat] += read - clock;
    clock = read;
  };

  for (let index = 0; index < CARDS; index++) deck[index] = index + 1;
  // Ruling 7: who moves first is drawn for the game's first round and alternates after that, across sets.
  let first = next() < 2147483648 ? 0 : 1;
  const firstSeat = first;

  for (let seat = 0; seat < 2; seat++) {
    const { startGame } = seats[seat];
    startGame();
    lap(exact, seat);
    log?.printed(seat);
  }

  for (let set = 0; set < maxSets; set++) {
    let coins0 = startCoins;
    let coins1 = startCoins;
    const before = { rounds, turns: turnCount, won: roundsWon[0], folds: [folds[0], folds[1]], first };
    log?.setStarts(set);
    for (let seat = 0; seat < 2; seat++) {
      const { startSet } = seats[seat];
      startSet();
      lap(exact, seat);
      log?.printed(seat);
    }
    let result0 = NO_RESULT; // what deal() and endRound() are told of the last round, in place
    let result1 = NO_RESULT;
    const roundsBegun = clock;
    for (let round = 0; round < maxRounds && coins0 > 0 && coins1 > 0; round++) {
      const timed = rounds % TIMED_ROUNDS === 0;
      dealCards(deck, next);
      const a0 = deck[0];
      const b0 = deck[1];
      const a1 = deck[2];
      const b1 = deck[3];
      // Ruling 3.
      const less = coins0 < coins1 ? coins0 : coins1;
      const least = ante < less ? ante : less;
      let bet0 = least;
      let bet1 = least;
      const packed0 = a0 | (b0 << 5) | (a1 << 10) | (first === 0 ? 32768 : 0) | result0;
      const packed1 = a1 | (b1 << 5) | (a0 << 10) | (first === 1 ? 32768 : 0) | result1;
      log?.roundStarts(round, coins0, coins1, deck, first, least);
      if (timed) clock = performance.now();
      let seat = first;
      let answer;
      if (first === 0) {
        (0, deals[1])(coins1, packed1);
        if (timed) lap(sampled, 1);
        answer = (0, deals[0])(coins0, packed0);
      } else {
        (0, deals[0])(coins0, packed0);
        if (timed) lap(sampled, 0);
        answer = (0, deals[1])(coins1, packed1);
      }
      if (timed) lap(sampled, first);
      log?.printed(1 - first);

      let winner = NOBODY;
      let folded = false;
      const turnsBefore = turnCount;
      for (;;) {
        turnCount++;
        log?.printed(seat);
        const mine = seat === 0 ? coins0 : coins1;
        const opBet = seat === 0 ? bet1 : bet0;
        // Ruling 5; a comparison with NaN is false.
        if (!(answer >= opBet && answer <= mine && Math.floor(answer) === answer)) {
          winner = 1 - seat;
          folded = true;
          folds[seat]++;
          if (answer !== -1) illegal[seat]++;
          log?.folds(seat, answer);
          break;
        }
        if (cap) {
          const others = seat === 0 ? coins1 : coins0;
          if (answer > others) answer = others;
        }
        log?.bets(seat, answer, opBet);
        if (seat === 0) bet0 = answer;
        else bet1 = answer;
        // Ruling 6.
        if (bet0 === bet1) {
          winner = rank(a0, b0) > rank(a1, b1) ? 0 : 1;
          break;
        }
        seat = 1 - seat;
        answer = seat === 0 ? (0, turns[0])(coins0, bet0, bet1) : (0, turns[1])(coins1, bet1, bet0);
        if (timed) lap(sampled, seat);
      }

      // Ruling 4: coins move now, and the loser's bet goes to the winner.
      if (out.rounds !== null) {
        const start = out.rounds.next();
        const row = out.rounds.data;
        row[start] = game;
        row[start + 1] = set;
        row[start + 2] = round;
        row[start + 3] = first;
        row[start + 4] = a0;
        row[start + 5] = b0;
        row[start + 6] = a1;
        row[start + 7] = b1;
        row[start + 8] = coins0;
        row[start + 9] = coins1;
        row[start + 10] = bet0;
        row[start + 11] = bet1;
        row[start + 12] = winner;
        row[start + 13] = folded ? 1 - winner : NOBODY;
        row[start + 14] = turnCount - turnsBefore;
      }
      const moved = winner === 0 ? bet1 : bet0;
      coins0 += winner === 0 ? moved : -moved;
      coins1 += winner === 0 ? -moved : moved;
      roundsWon[winner]++;
      rounds++;
      // Ruling 8: after a fold the opponent's second card stays hidden, shown as 0.
      result0 = ((winner === 0 ? 3 : 1) << 21) | (folded ? 0 : b1 << 16);
      result1 = ((winner === 1 ? 3 : 1) << 21) | (folded ? 0 : b0 << 16);
      log?.roundEnds(winner, folded, moved, coins0, coins1);
      if (log !== null) {
        // Told at once, so that what the bots print stands beside the round that it is about.
        (0, ends[0])(coins0, result0);
        log.printed(0);
        (0, ends[1])(coins1, result1);
        log.printed(1);
        result0 = result1 = NO_RESULT;
      }
      first = 1 - first;
    }
    clock = performance.now();
    untimed += clock - roundsBegun;

    const winner = coins0 > coins1 ? 0 : coins1 > coins0 ? 1 : NOBODY;
    if (winner !== NOBODY) setsWon[winner]++;
    coinsHeld[0] += coins0;
    coinsHeld[1] += coins1;
    sets++;
    out.sets.add(
      game, set, before.first, winner, coins0, coins1, rounds - before.rounds, roundsWon[0] - before.won,
      rounds - before.rounds - (roundsWon[0] - before.won), turnCount - before.turns, folds[0] - before.folds[0],
      folds[1] - before.folds[1],
    );
    log?.setEnds(winner, coins0, coins1);
    for (let seat = 0; seat < 2; seat++) {
      const { endSet } = seats[seat];
      const coins = seat === 0 ? coins0 : coins1;
      const result = seat === 0 ? result0 : result1;
      if (result !== NO_RESULT) (0, ends[seat])(coins, result);
      endSet(coins, winner === NOBODY ? 0 : winner === seat ? 1 : -1);
      lap(exact, seat);
      log?.printed(seat);
    }
    beat();
    if (seats.some(({ attempts }) => attempts() > 0)) break;
    // Statement: "If 20 seconds have passed at the end of the Set, the Game ends".
    if (clock - begun >= deadline && sets < maxSets) {
      termination = TIME_LIMIT;
      break;
    }
  }

  // Ruling 10.
  const [won0, won1] = termination === TIME_LIMIT ? roundsWon : setsWon;
  let winner = won0 > won1 ? 0 : won1 > won0 ? 1 : NOBODY;
  for (let seat = 0; seat < 2; seat++) {
    const { endGame } = seats[seat];
    endGame(winner === NOBODY ? 0 : winner === seat ? 1 : -1);
    lap(exact, seat);
    log?.printed(seat);
  }
  // Statement: "Any attempt to cheat ... will result in defeat."
  const cheats = seats.map(({ attempts }) => attempts() > 0);
  if (cheats[0] || cheats[1]) {
    termination = FORBIDDEN;
    fault = cheats[0] ? 0 : 1;
    winner = cheats[0] && cheats[1] ? NOBODY : 1 - fault;
  }
  const share = sampled[0] + sampled[1] > 0 ? untimed / (sampled[0] + sampled[1]) : 0;
  return {
    firstSeat,
    winner,
    sets,
    setsWon,
    rounds,
    roundsWon,
    turns: turnCount,
    folds,
    illegal,
    coins: coinsHeld,
    termination,
    fault,
    microseconds: exact.map((ms, seat) => Math.round(1000 * (ms + sampled[seat] * share))),
  };
}
