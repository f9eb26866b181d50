// A plain referee of the duel: both bots in the referee's own realm, no walls, no rows, no clocks but the one per set.
// It is the yardstick that the walled referee is measured against.
//
// node plain_duel.mjs FIRST.js SECOND.js GAMES BLOCK  evaluates the bots' classes anew for each block of games and prints
// one JSON object: games, sets, rounds, turns, callbacks, seconds and CPU seconds.
import { readFileSync } from "node:fs";

const [, , firstFile, secondFile, gamesText, blockText] = process.argv;
const SETS = 99;
const ROUNDS = 200;
const COINS = 1000;
const ANTE = 10;

globalThis.printLog = () => {};
const sources = [firstFile, secondFile].map((file) => readFileSync(file, "utf8"));

const RANK = new Int16Array(21 * 21);
for (let a = 1; a <= 20; a++) {
  for (let b = 1; b <= 20; b++) {
    const big = Math.max(a, b);
    RANK[a * 21 + b] = Math.abs(a - b) === 10 ? 1000 + big : ((a + b) % 10) * 20 + big;
  }
}

const totals = { games: 0, sets: 0, rounds: 0, turns: 0, callbacks: 0 };
const deck = Array.from({ length: 20 }, (_, index) => index + 1);

function playRound(players, coins, first, remain) {
  for (let i = 0; i < 4; i++) {
    const j = i + Math.floor(Math.random() * (20 - i));
    const card = deck[i];
    deck[i] = deck[j];
    deck[j] = card;
  }
  const hands = [
    [deck[0], deck[1]],
    [deck[2], deck[3]],
  ];
  for (let seat = 0; seat < 2; seat++) {
    players[seat].onRoundStart?.({
      my_coins: coins[seat],
      op_coins: coins[1 - seat],
      my_cards: [hands[seat][0], hands[seat][1]],
      op_card: hands[1 - seat][0],
      first_turn: seat === first,
      remain_round_count: remain,
    });
  }
  const ante = Math.min(ANTE, coins[0], coins[1]);
  const bets = [ante, ante];
  let turn = first;
  let winner = -1;
  let folded = false;
  while (winner < 0) {
    totals.turns++;
    let answer;
    try {
      answer = players[turn].onTurnStart({
        my_coins: coins[turn],
        op_coins: coins[1 - turn],
        my_bet_coins: bets[turn],
        op_bet_coins: bets[1 - turn],
      });
    } catch {
      answer = -1;
    }
    if (!Number.isInteger(answer) || answer < bets[1 - turn] || answer > coins[turn]) {
      winner = 1 - turn;
      folded = true;
    } else {
      bets[turn] = answer;
      if (bets[0] === bets[1]) {
        const [mine, other] = hands.map(([a, b]) => RANK[a * 21 + b]);
        winner = mine > other ? 0 : 1;
      }
      turn = 1 - turn;
    }
  }
  coins[winner] += bets[1 - winner];
  coins[1 - winner] -= bets[1 - winner];
  for (let seat = 0; seat < 2; seat++) {
    const other = hands[1 - seat];
    players[seat].onRoundEnd?.({
      win: seat === winner ? 1 : -1,
      my_coins: coins[seat],
      op_coins: coins[1 - seat],
      op_cards: folded ? [other[0], 0] : [other[0], other[1]],
    });
  }
  totals.rounds++;
}

function playGame(classes) {
  const players = classes.map((Class, seat) => {
    const player = new Class();
    if (player.player_name === "_will be replaced_") player.player_name = `Player${seat + 1}`;
    return player;
  });
  for (const player of players) player.onGameStart?.();
  const started = Date.now();
  const won = [0, 0];
  let first = Math.random() < 0.5 ? 0 : 1;
  for (let set = 0; set < SETS && Date.now() - started < 20_000; set++) {
    const coins = [COINS, COINS];
    for (const player of players) player.onSetStart?.({ my_coins: COINS });
    for (let remain = ROUNDS - 1; remain >= 0 && coins[0] > 0 && coins[1] > 0; remain--) {
      playRound(players, coins, first, remain);
      first = 1 - first;
    }
    for (let seat = 0; seat < 2; seat++) {
      const win = Math.sign(coins[seat] - coins[1 - seat]);
      if (win > 0) won[seat]++;
      players[seat].onSetEnd?.({ win, my_coins: coins[seat], op_coins: coins[1 - seat] });
    }
    totals.sets++;
  }
  for (let seat = 0; seat < 2; seat++) players[seat].onGameEnd?.({ win: Math.sign(won[seat] - won[1 - seat]) });
  totals.games++;
}

const started = performance.now();
const usedBefore = process.cpuUsage();
let classes;
for (let game = 0; game < Number(gamesText); game++) {
  if (game % Number(blockText) === 0) classes = sources.map((source) => (0, eval)(`0,${source}`));
  playGame(classes);
}
totals.seconds = (performance.now() - started) / 1000;
const used = process.cpuUsage(usedBefore);
totals.cpu_seconds = (used.user + used.system) / 1e6;
totals.callbacks = totals.turns + 4 * totals.rounds + 4 * totals.sets + 4 * totals.games;
console.log(JSON.stringify(totals));
