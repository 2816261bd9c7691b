package tracking

import (
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

func TestAPushThatWaitedTooLongIsLeftToOthers(t *testing.T) {
	t.Parallel()
	in := &intake{}
	now := time.Now()
	push := func(due time.Time) ship.RawID {
		p := store.Push{ID: ship.NewRawID(7, now), Body: []byte("{}")}
		in.keep([]arrival{{push: p}}, map[ship.Subject]bool{{ID: p.ID}: true}, due)
		return p.ID
	}
	push(now.Add(pushClaimMargin / 2)) // another copy may claim it before it is processed
	second, third := push(now.Add(pushClaim)), push(now.Add(pushClaim))
	if list := in.take(1); len(list) != 1 || list[0].ID != second {
		t.Errorf("taken are %v", list)
	}
	if list := in.take(2); len(list) != 1 || list[0].ID != third {
		t.Errorf("taken are then %v", list)
	}
	if in.bytes != 0 || in.ready != nil {
		t.Errorf("%d bytes of %d pushes are left", in.bytes, len(in.ready))
	}
}

func TestPushesWaitALittleWhileEnoughIsToBeHeard(t *testing.T) {
	t.Parallel()
	in := &intake{}
	if in.isFull() {
		t.Error("a copy that has nothing to hear waits")
	}
	due := time.Now().Add(pushClaim)
	for range readyPushes {
		p := store.Push{ID: ship.NewRawID(7, time.Now())}
		in.keep([]arrival{{push: p}}, map[ship.Subject]bool{{ID: p.ID}: true}, due)
	}
	began := time.Now()
	in.pause()
	if took := time.Since(began); took < intakePause {
		t.Errorf("one that has enough waits for %s", took)
	}
}
