// Bets big with good hands and, now and then, with the worst: who always believes it pays for air.
class Bluffer {
  player_name = "Bluffer";

  onRoundStart(data) {
    const [first, second] = data.my_cards;
    const digit = (first + second) % 10;
    const pair = Math.abs(first - second) === 10;
    this.good = pair || digit >= 7;
    this.bluffs = !this.good && digit <= 2 && Math.random() < 0.35;
    this.bets = 0;
  }

  onTurnStart(data) {
    const { my_coins, op_coins, my_bet_coins, op_bet_coins } = data;
    if (op_bet_coins > my_coins) return -1;
    const price = op_bet_coins - my_bet_coins;
    const most = Math.min(my_coins, op_coins);
    // One bet tells the story; a second one would only make the bluff dearer.
    if ((this.good || this.bluffs) && this.bets++ === 0 && op_bet_coins < most) {
      return Math.min(most, op_bet_coins + 3 * (my_bet_coins + op_bet_coins));
    }
    if (price === 0 || this.good) return op_bet_coins;
    return price <= my_bet_coins ? op_bet_coins : -1;
  }
}
