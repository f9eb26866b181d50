"""A run as it is kept: parts, receipts, and what may be believed.

::

    results/NAME/         or a URI: s3://bucket/NAME, gs://..., file:///..., any that pyarrow.fs or fsspec opens
      manifest.json       the config as carried out, versions, an identity
      bots/SHA256         every file of every bot, by content: a run can be replayed when its sources are gone
      parts/TABLE/        Parquet, one part per table and shard, named after its cell and its content
      receipts.jsonl      one line per committed shard: what makes its parts count (URI: receipts/NUMBER-*.json)
      given_up.json       shards that no worker could play, until they are played
      sitting             token of the driver that commits, or did last: who reads it sees this very place
      lock                held by the one process that may commit, and who that is (URI: lock/*.json)
      tmp/                files that are being written (folder only)

Commit of a shard: a worker puts the parts in place, whole or not at all; then the driver, and nobody else, writes
the receipt with their SHA-256. A part without a receipt does not exist, whoever wrote it and whenever. The name of a
part tells its content, so a shard that is played twice writes the same bytes to the same place, and a worker that
was given up for dead and writes late cannot change what is committed. Receipts count in the order in which they were
committed; one that overlaps an earlier one is ignored.

Readers check each part's SHA-256 before its rows are used. A part that fails, or is gone, is not committed: the next
``simfarm run`` plays it again.
"""

from simfarm.store.manifest import exists, place_at
from simfarm.store.parts import Coverage, Failure, Part, Receipt, encode, part_of, write_part
from simfarm.store.place import Driver, Place
from simfarm.store.run import Run, Writer, is_sitting

__all__ = [
    "Coverage",
    "Driver",
    "Failure",
    "Part",
    "Place",
    "Receipt",
    "Run",
    "Writer",
    "encode",
    "exists",
    "is_sitting",
    "part_of",
    "place_at",
    "write_part",
]
