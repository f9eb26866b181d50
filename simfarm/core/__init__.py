"""The contracts: the only part of simfarm that engines and planners import."""
