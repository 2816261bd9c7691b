package ship

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestIDsKeepTheirTimeAndShard(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		shard := Shard(rapid.IntRange(0, Shards-1).Draw(t, "shard"))
		at := time.UnixMilli(rapid.Int64Range(0, 1<<48-1).Draw(t, "at")).UTC()
		id := NewRawID(shard, at)
		if id.Shard() != shard || !id.Time().Equal(at) {
			t.Fatalf("shard %d at %v, want %d at %v", id.Shard(), id.Time(), shard, at)
		}
		text := ShipmentIDOf(id)
		if back, ok := ParseShipmentID(string(text)); !ok || back != text || back.Raw() != id {
			t.Fatalf("ParseShipmentID(%s) = %s, %t", text, back, ok)
		}
		if back, ok := ParseShipmentID("shp_" + strings.ToLower(string(text[4:]))); !ok || back != text {
			t.Fatalf("lower case %s = %s, %t", text, back, ok)
		}
		if _, ok := ParseTrackerID(string(text)); ok {
			t.Fatalf("%s passes as a tracker", text)
		}
	})
}

func TestIDsOfAnyBitsGoToTextAndBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		id := RawID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id"))
		for text, back := range map[string]RawID{
			string(AccountIDOf(id)): AccountIDOf(id).Raw(), string(TrackerIDOf(id)): TrackerIDOf(id).Raw(),
			string(EventIDOf(id)): EventIDOf(id).Raw(), string(KeyIDOf(id)): KeyIDOf(id).Raw(),
			string(EndpointIDOf(id)): EndpointIDOf(id).Raw(), string(ConnectionIDOf(id)): ConnectionIDOf(id).Raw(),
			string(PersonIDOf(id)): PersonIDOf(id).Raw(), string(SessionIDOf(id)): SessionIDOf(id).Raw(),
			string(InvitationIDOf(id)): InvitationIDOf(id).Raw(), string(AuditIDOf(id)): AuditIDOf(id).Raw(),
		} {
			if back != id {
				t.Fatalf("%x became %s became %x", id, text, back)
			}
		}
	})
}

func TestIDsSortByTimeAsTextAndAsStored(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	var before ShipmentID
	for i := range 2000 {
		id := NewShipmentID(Shard(i*7%Shards), at.Add(time.Duration(i)*time.Millisecond))
		raw, last := id.Raw(), before.Raw()
		if id <= before || string(raw[:]) <= string(last[:]) {
			t.Fatalf("%s does not come after %s", id, before)
		}
		before = id
	}
}

func TestABoundOfIDsHoldsForEveryTime(t *testing.T) {
	t.Parallel()
	id := NewRawID(Shards-1, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	for at, below := range map[time.Time]bool{
		{}:                         true,
		time.UnixMilli(-1):         true,
		id.Time():                  true,
		id.Time().Add(1e6):         false,
		time.Unix(1<<40, 0):        false,
		time.Unix(253402300799, 0): false,
	} {
		bound := RawIDAt(at)
		if got := string(bound[:]) <= string(id[:]); got != below {
			t.Errorf("the bound of %v is below an id of %v: %t, want %t", at, id.Time(), got, below)
		}
	}
}

func TestEventIDsOfOneTransactionSortInOrder(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 2, 3, 4, 5, 6, 789e6, time.UTC)
	for range 100 {
		ids := NewEventIDs(4095, at, 50)
		if !slices.IsSorted(ids) || len(slices.Compact(slices.Clone(ids))) != 50 {
			t.Fatal("ids are not in order")
		}
		for _, id := range ids {
			if id.Raw().Shard() != 4095 || !id.Raw().Time().Equal(at) {
				t.Fatalf("%s has shard %d and time %v", id, id.Raw().Shard(), id.Raw().Time())
			}
		}
	}
}

func TestParsingRefusesWhatIsNoID(t *testing.T) {
	t.Parallel()
	good := string(NewShipmentID(1, time.Now()))
	for _, s := range []string{
		"", "shp_", good[:len(good)-1], good + "0", "SHP_" + good[4:], "trk_" + good[4:], good[4:], " " + good,
		"shp_8" + good[5:], "shp_" + strings.Repeat("Z", 26), "shp_" + strings.Repeat("0", 25) + "U", good[:29] + "\u00e9",
	} {
		if _, ok := ParseShipmentID(s); ok {
			t.Errorf("ParseShipmentID(%q) passes", s)
		}
		if ShipmentID(s).Raw() != (RawID{}) {
			t.Errorf("%q has a stored form", s)
		}
	}
}

func FuzzID(f *testing.F) {
	f.Add("shp_01KA2M8Q4C00012N6V3T9RZKXB")
	f.Add("shp_7ZZZZZZZZZZZZZZZZZZZZZZZZZ")
	f.Add("shp_01ka2m8q4c00012n6v3t9rzkxb")
	f.Fuzz(func(t *testing.T, s string) {
		id, ok := ParseShipmentID(s)
		if !ok {
			return
		}
		if !strings.EqualFold(string(id), s) {
			t.Fatalf("%q is read as %s", s, id)
		}
		if again := ShipmentIDOf(id.Raw()); again != id {
			t.Fatalf("%s is stored and read as %s", id, again)
		}
		if RawIDAt(id.Raw().Time()).Time() != id.Raw().Time() {
			t.Fatalf("%s loses its time", id)
		}
	})
}
