// The log of a game for people: what the cards were, who bet what, what the bots printed; the newest line last.

export class Log {
  // names: the bots' names by seat.    write: takes a line.
  constructor(names, write) {
    this.names = names;
    this.write = write;
    this.seats = [];
  }

  gameStarts(game, seats, seating) {
    this.seats = seats;
    const players = this.names.map((name, seat) => {
      const { playerName } = seats[seat];
      return `seat ${seat} ${name} (${playerName().replaceAll("\n", "\\n")})`;
    });
    this.write(`game ${game}: ${players.join(", ")}, seating ${seating}`);
    for (let seat = 0; seat < 2; seat++) this.printed(seat);
  }

  printed(seat) {
    const { takeLog } = this.seats[seat];
    const text = takeLog();
    if (text === "") return;
    for (const line of text.slice(0, -1).split("\n")) this.write(`      [${this.names[seat]}] ${line}`);
  }

  setStarts(set) {
    this.write(`  set ${set + 1}`);
  }

  roundStarts(round, coins0, coins1, deck, first, ante) {
    this.write(
      `    round ${round + 1}: ${this.names[0]} ${deck[0]}+${deck[1]} (${coins0} coins), ` +
        `${this.names[1]} ${deck[2]}+${deck[3]} (${coins1} coins), ante ${ante}, ${this.names[first]} first`,
    );
  }

  folds(seat, answer) {
    const told = answer === -1 ? "" : Number.isNaN(answer) ? " (no number)" : ` (answered ${answer})`;
    this.write(`      ${this.names[seat]} gives up${told}`);
  }

  bets(seat, bet, opBet) {
    this.write(`      ${this.names[seat]} ${bet === opBet ? "calls" : "raises to"} ${bet}`);
  }

  roundEnds(winner, folded, moved, coins0, coins1) {
    this.write(`      ${this.names[winner]} wins ${moved}${folded ? "" : " at the showdown"}: ${coins0} to ${coins1}`);
  }

  setEnds(winner, coins0, coins1) {
    this.write(`    set won by ${winner < 0 ? "nobody" : this.names[winner]}: ${coins0} to ${coins1}`);
  }

  // evidence: null, or what is known of a fault: [request, reply, the end of standard error].
  gameEnds(result, termination, detail, evidence) {
    const winner = result.winner < 0 ? "nobody" : this.names[result.winner];
    const score = `${result.setsWon.join(" to ")} sets, ${result.roundsWon.join(" to ")} rounds`;
    this.write(`  game won by ${winner}: ${score}, ${termination}`);
    this.indented("", detail);
    const titles = ["last request: ", "last reply: ", "standard error: "];
    evidence?.forEach((text, index) => this.indented(titles[index], text));
  }

  // Text that a bot may have made: none of its lines looks like one of ours.
  indented(title, text) {
    if (text === "") return;
    for (const line of `${title}${text}`.split("\n")) this.write(`      ${line}`);
  }
}
