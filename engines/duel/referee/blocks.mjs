// A block: a fixed number of games of one pair, each bot in a realm that lasts as long as the block.
import { newDeck } from "cards.mjs";
import { COMPLETED, CRASHED, FORBIDDEN, Game, NOBODY, TIME_LIMIT, TIMEOUT } from "game.mjs";
import { fuller, Ledger } from "heap.mjs";
import { Log } from "log.mjs";
import { stream, words } from "random.mjs";
import { openSeat } from "seats.mjs";
import { derive } from "seeds.mjs";

// By these numbers records.py knows the ends of games.
const MEMORY_LIMIT = 4;
const FORFEITED = 5;
const NOT_STARTED = 7;
const ENDS = [];
ENDS[COMPLETED] = "completed";
ENDS[TIME_LIMIT] = "time_limit";
ENDS[FORBIDDEN] = "forbidden";
ENDS[CRASHED] = "crashed";
ENDS[MEMORY_LIMIT] = "memory_limit";
ENDS[FORFEITED] = "forfeited";
ENDS[TIMEOUT] = "timeout";
ENDS[NOT_STARTED] = "not_started";

// A bot that has cost its realm this often in one block is not played again in it.
const FATAL_FAULTS = 3;
// What bots see of the time: it starts within four years after 2020-01-01.
const EPOCH_MS = 1577836800000;
const SPREAD_MS = 126230400000;

// The heap ran full while calls were watched; `position` is the bot that keeps more of it.
class HeapFull extends Error {
  constructor(position) {
    super("heap full");
    this.position = position;
  }
}

export class Block {
  // task: the request of session.py.    block: its index.    out: { games, sets, rounds, details }.
  // host: what main.mjs offers.
  constructor(task, block, out, host) {
    this.task = task;
    this.out = out;
    this.host = host;
    this.seed = derive(BigInt(task.seed), block);
    const all = task.seatings.map((seating, number) => ({ seating, number }));
    this.seatings = task.shared ? all : [all[block % all.length]];
    this.deck = newDeck();
    this.fatal = [0, 0];
    this.bots = null; // doors by position in the matchup
    this.ledger = null;
  }

  play() {
    for (let game = 0; game < this.task.games; game++) {
      const known = this.task.faults.find((fault) => fault.game === game);
      const forfeiter = this.fatal.findIndex((count) => count >= FATAL_FAULTS);
      if (known !== undefined) this.lose(game, known.position, known.termination, known.detail, known.evidence);
      else if (forfeiter >= 0) this.lose(game, forfeiter, FORFEITED, `had cost ${FATAL_FAULTS} games of its block`, null);
      else this.playWatched(game);
    }
  }

  playWatched(game) {
    this.host.gameStarts(game);
    try {
      this.bots ??= this.task.bots.map((_, position) => this.open(position));
      this.playGame(game);
    } catch (error) {
      if (!(error instanceof HeapFull)) throw error;
      this.host.heapFull(error.position);
    }
    // Who filled the heap shows when the block is played again and watched.
    if (fuller(this.task.heap_bytes)) this.host.heapFull(null);
  }

  open(position) {
    const { host, task } = this;
    const bot = task.bots[position];
    const luck = words(this.seed, "load", bot.name);
    const watch = (door, name, seat) => (...values) => {
      if (!host.watches()) return door(...values);
      if (name === "deal") return piecewise(seat, ...values);
      this.ledger ??= new Ledger();
      const { preview, reply } = seat;
      const request = name === "load" ? preview(name) : preview(name, ...values);
      host.calls({ position, door: name, request, reply: reply(), kept: this.ledger.kept });
      const answer = door(...values);
      if (this.ledger.note(position, task.heap_bytes)) throw new HeapFull(this.ledger.keeper);
      return answer;
    };
    return openSeat(task.inside, bot, luck, clockStart(luck), task.watch === null ? undefined : watch);
  }

  // A game that cost a realm: what had been played of it is not kept, and new realms follow.
  lose(game, position, termination, detail, evidence) {
    const { seating, number } = this.seatings[game % this.seatings.length];
    const seat = seating.indexOf(position);
    if (termination !== FORFEITED) this.fatal[position]++;
    this.bots = null;
    const result = nothingPlayed(1 - seat, termination, seat);
    this.addRow(game, number, result, [0, 0], [0, 0], detail, evidence);
    this.log(seating)?.gameEnds(result, ENDS[termination], detail, evidence);
  }

  log(seating) {
    const { host, task } = this;
    return host.print === null ? null : new Log(seating.map((position) => task.bots[position].name), host.print);
  }

  playGame(game) {
    const { task, out } = this;
    const { seating, number } = this.seatings[game % this.seatings.length];
    // Games of one shared deal differ in nothing but their seating: the same cards, and the same luck at each seat.
    const seed = derive(this.seed, Math.floor(game / this.seatings.length));
    const seats = seating.map((position) => this.bots[position]);
    const log = this.log(seating);
    const failures = seats.map((seat, index) => this.create(seat, seed, index, log));
    log?.gameStarts(game, seats, number);

    let result;
    if (failures[0] === "" && failures[1] === "") {
      const next = stream(...words(seed, "deck"));
      result = new Game(seats, task.rules, next, this.deck, out, game, this.host.beat, log).play();
    } else {
      const fault = failures[0] === "" ? 1 : 0;
      result = nothingPlayed(failures[1 - fault] === "" ? 1 - fault : NOBODY, CRASHED, fault);
    }
    const stalled = result.termination === TIMEOUT ? result.fault : NOBODY;
    if (stalled !== NOBODY) this.fatal[seating[stalled]]++;
    const told = seats.map(({ attempt, exception }, seat) => {
      return failures[seat] || attempt() || (seat === stalled ? "delayed the game" : exception());
    });
    const detail = told.map((text, seat) => (text === "" ? "" : `${task.bots[seating[seat]].name}: ${text}`));
    const text = detail.filter((part) => part !== "").join("; ");
    const attempts = seats.map(({ attempts: count }) => count());
    const exceptions = seats.map(({ exceptions: count }) => count());
    const evidence = result.fault === NOBODY ? null : this.evidence(seats[result.fault], failures[result.fault]);
    this.addRow(game, number, result, attempts, exceptions, text, evidence);
    log?.gameEnds(result, ENDS[result.termination], text, evidence);
  }

  // What the bot at fault was asked, and its last answer before: the columns of the row as far as they are known here.
  evidence({ attempts, attemptRequest, attemptReply, preview, problem, reply }, failure) {
    if (failure !== "") return [preview(problem === "" ? "create" : "load"), "", ""];
    if (attempts() > 0) return [attemptRequest(), attemptReply(), ""];
    return ["", reply(), ""];
  }

  create({ create, problem }, seed, seat, log) {
    if (problem !== "") return problem;
    const { rules } = this.task;
    const luck = words(seed, "bot", seat);
    return create(...luck, seat, clockStart(luck), 2 * rules.coins, rules.ante, rules.rounds, log === null ? 0 : 1);
  }

  // evidence: null, or [request, reply, the end of standard error], each "" if there is none.
  addRow(game, seating, result, attempts, exceptions, detail, evidence) {
    const { out } = this;
    if (detail !== "" || evidence !== null) out.details.push([out.games.count, detail, ...(evidence ?? [])]);
    out.games.add(
      game, seating, result.firstSeat, result.winner, result.sets, ...result.setsWon, result.rounds, ...result.roundsWon,
      result.turns, ...result.folds, ...result.illegal, ...result.coins, ...exceptions, ...attempts,
      result.termination, result.fault, ...result.microseconds,
    );
  }
}

// What the door `deal` does, callback by callback.
function piecewise({ endRound, startRound, firstTurn }, coins, packed) {
  if (packed >>> 21 !== 0) endRound(coins, packed);
  startRound(coins, packed);
  return firstTurn(coins, packed);
}

function clockStart(luck) {
  return EPOCH_MS + Math.floor(((luck[3] >>> 0) / 4294967296) * SPREAD_MS);
}

function nothingPlayed(winner, termination, fault) {
  const none = [0, 0];
  return {
    firstSeat: NOBODY, winner, sets: 0, setsWon: none, rounds: 0, roundsWon: none, turns: 0, folds: none, illegal: none,
    coins: none, termination, fault, microseconds: none,
  };
}
