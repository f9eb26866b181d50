// Models the opponent by what it has shown: which hands stood behind which bets, and how often it gives up to a raise.
class Mirror {
  player_name = "_will be replaced_";

  constructor() {
    // shown[size][class]: how often a bet of that size was shown down with a hand of that class, 1 to begin with.
    this.shown = Array.from({ length: Mirror.SIZES }, () => new Array(Mirror.CLASSES).fill(1));
    this.raises = 2;
    this.foldsToRaises = 1;
  }

  onRoundStart(data) {
    this.cards = data.my_cards;
    this.opCard = data.op_card;
    this.opBet = 0;
    this.raised = false;
  }

  onTurnStart(data) {
    const { my_coins, op_coins, my_bet_coins, op_bet_coins } = data;
    this.ante ??= my_bet_coins;
    this.opBet = op_bet_coins;
    const price = op_bet_coins - my_bet_coins;
    const pot = op_bet_coins + my_bet_coins;
    const odds = this.odds(price > 0 ? Mirror.size(op_bet_coins / this.ante) : -1);
    if (op_bet_coins > my_coins || odds * (pot + price) < price) return -1;
    const most = Math.min(my_coins, op_coins);
    if (op_bet_coins >= most || this.raised) return op_bet_coins;

    const raise = Math.min(most, op_bet_coins + Math.ceil(pot * (0.5 + odds)));
    const folds = this.foldsToRaises / this.raises;
    // Coins won by a raise: the pot where it gives up, else the raise at odds that its staying makes worse.
    const stays = odds * 0.8;
    const gain = folds * pot + (1 - folds) * (stays * (raise + op_bet_coins) - (1 - stays) * (raise - op_bet_coins));
    if (gain <= odds * pot) return op_bet_coins;
    this.raised = true;
    this.raises++;
    return raise;
  }

  onRoundEnd(result) {
    const shown = result.op_cards[1] !== 0;
    if (!shown) {
      if (this.raised && result.win === 1) this.foldsToRaises++;
      return;
    }
    const bet = Math.max(this.opBet, this.ante ?? 0) / (this.ante ?? 1);
    this.shown[Mirror.size(bet)][Mirror.class(Mirror.strength(...result.op_cards))]++;
  }

  // The odds over the opponent's 17 second cards, each as likely as a hand of its class has bet that much before.
  odds(size) {
    const [first, second] = this.cards;
    const mine = Mirror.strength(first, second);
    let wins = 0;
    let all = 0;
    for (let card = 1; card <= 20; card++) {
      if (card === first || card === second || card === this.opCard) continue;
      const theirs = Mirror.strength(this.opCard, card);
      const weight = size < 0 ? 1 : this.likelihood(size, Mirror.class(theirs));
      all += weight;
      if (theirs < mine) wins += weight;
    }
    return wins / all;
  }

  likelihood(size, hand) {
    let all = 0;
    for (let other = 0; other < Mirror.SIZES; other++) all += this.shown[other][hand];
    return this.shown[size][hand] / all;
  }

  static SIZES = 5;
  static CLASSES = 5;

  // 0 for a bet of one ante, then one more for each factor of four.
  static size(antes) {
    return Math.min(Mirror.SIZES - 1, antes <= 1 ? 0 : 1 + Math.floor(Math.log2(antes) / 2));
  }

  // A fifth of the order of hands: units digits 0-1, 2-3, 4-5, 6-7, and 8, 9 and the pairs.
  static class(strength) {
    return Math.min(Mirror.CLASSES - 1, Math.floor(strength / 42));
  }

  static strength(a, b) {
    const big = Math.max(a, b);
    return (Math.abs(a - b) === 10 ? 10 : (a + b) % 10) * 21 + big;
  }
}
