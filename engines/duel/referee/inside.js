// What stands in a bot's realm before the bot does: its walls, and the seat through which the referee calls it.
//
// The referee evaluates this text in a new ShadowRealm and calls it with the functions of random.mjs and request.mjs. It
// shares the realm with a hostile bot. So it takes what it needs of the built-ins before the bot is loaded, afterwards uses
// nothing that a bot could have changed (no methods of arrays, strings or functions; only syntax and what it took),
// and has no secret: whatever a bot changed here would change what it is told about the game and no more. Only numbers
// and strings go in and out, and no function of the referee's realm is ever handed to this one.
(function inside(stream, request) {
  "use strict";

  const { apply, construct, defineProperty, deleteProperty, getPrototypeOf, ownKeys } = Reflect;
  const evaluate = eval;
  const textOf = String;
  const global = globalThis;
  const { floor } = Math;
  const { startsWith } = String.prototype;
  const { toString: sourceOf } = Function.prototype;
  const RealDate = Date;
  const RealTypeError = TypeError;

  const NAME_LENGTH = 64; // characters of a player_name that are shown
  const LINE_LENGTH = 1000; // characters of a printLog line that are kept
  const LOG_LINES = 20_000; // printLog lines that are kept of one game
  const HUGE_LENGTH = 1_000_000; // characters from which on nothing is kept of a text
  const ERROR_LENGTH = 500; // characters of an error that are kept
  const UNNAMED = "_will be replaced_"; // statement: "If left as is, it will be replaced by Player1 or Player2"
  const READ_US = 100; // how far the simulated clock moves when it is read: loops that wait for it end
  const CALL_US = 1000; // and before each callback

  const KEPT = `Object Function Array Number parseFloat parseInt Infinity NaN undefined Boolean String Symbol Date Promise
    RegExp Error AggregateError EvalError RangeError ReferenceError SyntaxError TypeError URIError SuppressedError globalThis
    JSON Math ArrayBuffer Uint8Array Int8Array Uint16Array Int16Array Uint32Array Int32Array BigUint64Array BigInt64Array
    Uint8ClampedArray Float16Array Float32Array Float64Array DataView Map BigInt Set Iterator Proxy Reflect decodeURI
    decodeURIComponent encodeURI encodeURIComponent escape unescape isFinite isNaN DisposableStack`;
  // WeakMap and WeakSet are not kept: to collect large ones takes seconds, and it may be the opponent's call that pays.
  const TRAPPED = `process require global Buffer Deno Bun gc WebAssembly SharedArrayBuffer Atomics ShadowRealm Worker fetch
    XMLHttpRequest WebSocket importScripts postMessage window document self parent top frames opener localStorage
    setTimeout setInterval setImmediate queueMicrotask`;

  let attempts = 0; // what the walls recognised as an attempt to get out, in this game
  let attempt = "";
  let attemptRequest = ""; // and the call in which the first was made, with the answer before it
  let attemptReply = "";
  let door = ""; // of the call that goes on, and the numbers that came with it
  let given1 = 0;
  let given2 = 0;
  let given3 = 0;
  let answer; // to the last onTurnStart
  let exceptions = 0; // callbacks that threw, in this game
  let exception = "";
  let oddity = ""; // the first answer that was no number, in this game
  let logging = false;
  let lines = "";
  let lineCount = 0;
  let microseconds = 0; // the simulated clock

  function attempted(what) {
    if (attempts++ !== 0) return;
    attempt = what;
    attemptRequest = request(door, given1, given2, given3, total, remain, opCard);
    attemptReply = reply();
  }

  // ---------------------------------------------------------------------------------------------- walls

  function put(object, name, value, fixed = false) {
    defineProperty(object, name, { value, writable: !fixed, enumerable: false, configurable: !fixed });
  }

  function trapGlobals() {
    const kept = new Set(KEPT.split(/\s+/));
    for (const name of ownKeys(global)) {
      if (!kept.has(name) && !deleteProperty(global, name)) throw new RealTypeError(`${textOf(name)} cannot be removed`);
    }
    for (const name of TRAPPED.split(/\s+/)) {
      const get = () => attempted(`reached for ${name}`);
      defineProperty(global, name, { get, enumerable: false, configurable: true });
    }
  }

  // Code from strings is gone: eval, and the constructor that each kind of function has.
  function trapCode() {
    const kinds = [function () {}, function* () {}, async function () {}, async function* () {}];
    kinds.forEach((kind, index) => {
      const name = ["Function", "GeneratorFunction", "AsyncFunction", "AsyncGeneratorFunction"][index];
      const prototype = getPrototypeOf(kind);
      const refused = function (..._code) {
        attempted(`${name}(code)`);
        throw new RealTypeError(`${name}: code from strings is not allowed here`);
      };
      put(refused, "name", name);
      put(refused, "prototype", prototype, true);
      put(prototype, "constructor", refused);
      if (index === 0) put(global, "Function", refused);
    });
    put(global, "eval", (_code) => {
      attempted("eval(code)");
      throw new RealTypeError("eval: code from strings is not allowed here");
    });
    // Promises are never settled here, so that whatever makes one from a plain function is of no use.
    deleteProperty(Array, "fromAsync");
  }

  function now() {
    microseconds += READ_US;
    return microseconds / 1000;
  }

  function simulateClock() {
    const today = () => floor(now());
    const SimulatedDate = function Date(...parts) {
      if (new.target === undefined) return textOf(new RealDate(today()));
      return construct(RealDate, parts.length === 0 ? [today()] : parts, new.target);
    };
    for (const name of ["parse", "UTC"]) put(SimulatedDate, name, RealDate[name]);
    put(SimulatedDate, "now", () => today());
    put(SimulatedDate, "length", 7);
    put(SimulatedDate, "prototype", RealDate.prototype, true);
    put(RealDate.prototype, "constructor", SimulatedDate);
    put(global, "Date", SimulatedDate);
    let origin = 0;
    put(global, "performance", {
      now: () => now() - origin,
      get timeOrigin() {
        return origin;
      },
    });
    return (milliseconds) => {
      origin = milliseconds;
      microseconds = milliseconds * 1000;
    };
  }

  // Traces name places in the bot's file and nothing else: no frame of the referee.
  function shortenTraces() {
    const print = (error, frames) => {
      let text;
      try {
        text = textOf(error);
      } catch {
        text = "an error that cannot be shown";
      }
      for (let index = 0; index < frames.length; index++) {
        const frame = frames[index];
        if (frame.getScriptNameOrSourceURL() !== fileName) continue;
        text += `\n    at ${frame.getFunctionName() ?? "class"} (${fileName}:${frame.getLineNumber()})`;
      }
      return text;
    };
    put(Error, "prepareStackTrace", print, true);
    put(global, "Error", Error, true);
  }

  // The start of a text as a text of its own: a slice would keep all of it in memory.
  function cut(text, length) {
    if (text.length <= length) return text;
    if (text.length > HUGE_LENGTH) return `[${text.length} characters]`; // to look at one character costs as much as all
    let start = "";
    for (let index = 0; index < length; index++) start += text[index];
    return start;
  }

  // A text that holds whatever a bot printed, without calling anything of the bot's.
  function shown(value) {
    const kind = typeof value;
    if ((kind === "object" && value !== null) || kind === "function") return `[${kind}]`;
    return cut(textOf(value), LINE_LENGTH);
  }

  function printLog(text) {
    if (!logging || lineCount > LOG_LINES) return;
    lines += lineCount++ < LOG_LINES ? `${shown(text)}\n` : "(further lines of this game are not kept)\n";
  }

  function giveLog() {
    put(global, "printLog", printLog);
    const console = {};
    for (const name of ["log", "info", "warn", "error", "debug"]) put(console, name, (text) => printLog(text));
    put(global, "console", console);
  }

  let random = () => 0;
  put(Math, "random", () => ((random() >>> 5) * 67108864 + (random() >>> 6)) / 9007199254740992);

  // ---------------------------------------------------------------------------------------------- seat

  let fileName = "";
  let Bot;
  let bot;
  let total = 0; // coins of both players
  let ante = 0;
  let remain = 0; // remain_round_count of the round that is played
  let rounds = 0;
  let opCard = 0; // the opponent's first card in the round that is played
  let fresh = false; // whether the class has been loaded and not been constructed since

  function enter(name, a = 0, b = 0, c = 0) {
    door = name;
    given1 = a;
    given2 = b;
    given3 = c;
    microseconds += CALL_US;
  }

  function describe(error) {
    try {
      let text = error;
      if (typeof error === "object" && error !== null) {
        text = error.stack;
        if (typeof text !== "string") text = error.message;
      }
      return typeof text === "string" ? cut(text, ERROR_LENGTH) : `threw ${shown(text)}`;
    } catch {
      return "threw an error that cannot be shown";
    }
  }

  function failed(callback, error) {
    if (exceptions++ === 0) exception = `${callback}: ${describe(error)}`;
  }

  // Loads the class. Returns the class's own text, or what is wrong: text that does not start with "class".
  function load(source, name, a, b, c, d, startMs) {
    fileName = name;
    random = stream(a, b, c, d);
    setClock(startMs);
    door = "load";
    fresh = true;
    let text;
    try {
      // The completion value of an expression statement: nothing gets a name, a closing semicolon does no harm.
      const value = evaluate(`0,${source}\n//# sourceURL=${name}`);
      if (typeof value !== "function") return "is no class expression";
      text = apply(sourceOf, value, []);
      Bot = value;
    } catch (error) {
      return `threw ${describe(error)}`;
    }
    return apply(startsWith, text, ["class"]) ? text : "is no class expression";
  }

  // A new bot for a new game. Returns "" or how its constructor failed.
  function create(a, b, c, d, seat, startMs, allCoins, firstAnte, maxRounds, log) {
    random = stream(a, b, c, d);
    setClock(startMs);
    total = allCoins;
    ante = firstAnte;
    rounds = maxRounds;
    logging = log === 1;
    door = "create";
    answer = undefined;
    exceptions = lineCount = 0;
    exception = oddity = lines = "";
    if (!fresh) attempts = 0; // an attempt while it was loaded counts in the first game
    if (attempts === 0) attempt = attemptRequest = attemptReply = "";
    fresh = false;
    try {
      bot = new Bot();
      if ((typeof bot !== "object" || bot === null) && typeof bot !== "function") return "the constructor gave no object";
      if (typeof bot.onTurnStart !== "function") return "has no method onTurnStart";
      const name = bot.player_name;
      if (typeof name !== "string" || name === "" || name === UNNAMED) bot.player_name = `Player${seat + 1}`;
      return "";
    } catch (error) {
      return `the constructor threw ${describe(error)}`;
    }
  }

  function playerName() {
    door = "playerName";
    try {
      const name = bot.player_name;
      return typeof name === "string" ? cut(name, NAME_LENGTH) : "";
    } catch {
      return "";
    }
  }

  function startGame() {
    enter("startGame");
    try {
      if (bot.onGameStart !== undefined) bot.onGameStart();
    } catch (error) {
      failed("onGameStart", error);
    }
  }

  function startSet() {
    enter("startSet");
    remain = rounds - 1;
    try {
      if (bot.onSetStart !== undefined) bot.onSetStart({ my_coins: total / 2 });
    } catch (error) {
      failed("onSetStart", error);
    }
  }

  // One call does what happens between two decisions: the end of the last round, the start of the next, and for the
  // player who moves first also the first turn. `packed` holds, from the low bits up: my two cards, the opponent's
  // first card, whether the first turn is mine, the second card shown at the end of the last round (5, 5, 5, 1 and 5
  // bits), and the last round's result (0: there was none, 1: lost, 2: tie, 3: won).
  function deal(coins, packed) {
    if (packed >>> 21 !== 0) endRound(coins, packed);
    startRound(coins, packed);
    return firstTurn(coins, packed);
  }

  function startRound(coins, packed) {
    enter("startRound", coins, packed);
    opCard = (packed >>> 10) & 31;
    try {
      if (bot.onRoundStart !== undefined) {
        bot.onRoundStart({
          my_coins: coins,
          op_coins: total - coins,
          my_cards: [packed & 31, (packed >>> 5) & 31],
          op_card: opCard,
          first_turn: ((packed >>> 15) & 1) === 1,
          remain_round_count: remain,
        });
      }
    } catch (error) {
      failed("onRoundStart", error);
    }
    remain -= 1;
  }

  function firstTurn(coins, packed) {
    if (((packed >>> 15) & 1) === 0) return 0;
    const bet = openingBet(coins);
    return turn(coins, bet, bet);
  }

  function openingBet(coins) {
    const less = coins < total - coins ? coins : total - coins;
    return ante < less ? ante : less;
  }

  // The answer; NaN where the bot gave none that is a number.
  function turn(coins, myBet, opBet) {
    enter("turn", coins, myBet, opBet);
    try {
      answer = bot.onTurnStart({
        my_coins: coins,
        op_coins: total - coins,
        my_bet_coins: myBet,
        op_bet_coins: opBet,
      });
      if (typeof answer === "number") return answer;
      if (oddity === "") oddity = `onTurnStart: no number but ${typeof answer === "object" ? "an object" : shown(answer)}`;
    } catch (error) {
      failed("onTurnStart", error);
    }
    return NaN;
  }

  function endRound(coins, packed) {
    enter("endRound", coins, packed);
    try {
      if (bot.onRoundEnd !== undefined) {
        bot.onRoundEnd({
          win: (packed >>> 21) - 2,
          my_coins: coins,
          op_coins: total - coins,
          op_cards: [opCard, (packed >>> 16) & 31],
        });
      }
    } catch (error) {
      failed("onRoundEnd", error);
    }
  }

  function endSet(coins, win) {
    enter("endSet", coins, win);
    try {
      if (bot.onSetEnd !== undefined) bot.onSetEnd({ win, my_coins: coins, op_coins: total - coins });
    } catch (error) {
      failed("onSetEnd", error);
    }
  }

  function endGame(win) {
    enter("endGame", win);
    try {
      if (bot.onGameEnd !== undefined) bot.onGameEnd({ win });
    } catch (error) {
      failed("onGameEnd", error);
    }
  }

  // What the bot is asked when a door is called next.
  function preview(name, a, b, c) {
    if (name !== "firstTurn") return request(name, a, b, c, total, remain, opCard);
    return request("turn", a, openingBet(a), openingBet(a), total, remain, opCard);
  }

  // The last answer as text, "" if there was none in this game.
  function reply() {
    return answer === undefined ? "" : shown(answer);
  }

  function takeLog() {
    const taken = lines;
    lines = "";
    return taken;
  }

  trapGlobals();
  const setClock = simulateClock();
  trapCode();
  shortenTraces();
  giveLog();

  const doors = {
    __proto__: null,
    load,
    create,
    playerName,
    startGame,
    startSet,
    deal,
    startRound,
    firstTurn,
    turn,
    endRound,
    endSet,
    endGame,
    takeLog,
    attempts: () => attempts,
    attempt: () => attempt,
    attemptRequest: () => attemptRequest,
    attemptReply: () => attemptReply,
    preview,
    reply,
    exceptions: () => exceptions,
    exception: () => exception || oddity,
  };
  return (name) => doors[name];
})
