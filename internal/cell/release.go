package cell

import (
	"context"
	"log/slog"
	"time"
)

// releaseEvery is how often copies of the service and routers look for shards whose
// mover has died.
const releaseEvery = 5 * time.Second

// ReleaseShards serves shards again that a mover has held and that it is silent about,
// until ctx ends. release does so once; any number of copies may.
func ReleaseShards(ctx context.Context, release func(context.Context) ([]int, error), log *slog.Logger) {
	ticks := time.NewTicker(releaseEvery)
	defer ticks.Stop()
	for {
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return
		}

		released, err := release(ctx)
		switch {
		case len(released) > 0:
			log.WarnContext(ctx, "a mover died: its shards are served again; run \"waybill shard moves\"", "shards", released)
		case err != nil && ctx.Err() == nil:
			log.DebugContext(ctx, "look for shards whose mover died", "error", err)
		}
	}
}
