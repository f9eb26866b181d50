// Bets on its winning odds: which part of the 17 second cards that the opponent may hold lose to its own hand?
class Odds {
  player_name = "_will be replaced_";

  onRoundStart(data) {
    const [first, second] = data.my_cards;
    const mine = Odds.strength(first, second);
    let wins = 0;
    for (let card = 1; card <= 20; card++) {
      if (card === first || card === second || card === data.op_card) continue;
      if (Odds.strength(data.op_card, card) < mine) wins++;
    }
    this.odds = wins / 17;
  }

  onTurnStart(data) {
    const { my_coins, op_coins, my_bet_coins, op_bet_coins } = data;
    const price = op_bet_coins - my_bet_coins;
    const pot = op_bet_coins + my_bet_coins;
    // Who can raise has more odds than he shows: against a raise the plain odds are worth less.
    const odds = price > 0 ? this.odds * 0.85 : this.odds;
    if (op_bet_coins > my_coins || odds * (pot + price) < price) return -1;
    const most = Math.min(my_coins, op_coins);
    if (odds > 0.7 && op_bet_coins < most) {
      return Math.min(most, op_bet_coins + Math.ceil(2 * pot * (odds - 0.5)));
    }
    return op_bet_coins;
  }

  // The ten pairs (n, n + 10) stand above all sums; then the units digit of the sum, then the bigger card.
  static strength(a, b) {
    const big = a > b ? a : b;
    const small = a > b ? b : a;
    return big - small === 10 ? 1000 + big : ((a + b) % 10) * 20 + big;
  }
}
