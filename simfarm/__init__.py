"""simfarm: very many bot-against-bot matches, every game a row, every verdict with its error."""

__version__ = "0.1.0"
