package ship

import (
	"strings"
	"testing"
)

func TestAReferenceFollowsFromWhatItNames(t *testing.T) {
	t.Parallel()
	live := Tenant{Account: "acct_01KA2M8Q4C00012N6V3T9RZKXB", Livemode: true}
	test := Tenant{Account: live.Account}
	other := Tenant{Account: "acct_01KA2M8Q4C00012N6V3T9RZKXC", Livemode: true}
	key, key2 := []byte("k"), []byte("k2")
	want := Reference(key, live, "order-1", 1)
	if len(want) != 26 || want[0] != 'S' || strings.Trim(want[1:], crockford) != "" {
		t.Fatalf("%q is not S and 25 characters", want)
	}
	if again := Reference(key, live, "order-1", 1); again != want {
		t.Errorf("the same attempt is called %s and %s", want, again)
	}
	seen := map[string]string{want: "itself"}
	for what, got := range map[string]string{
		"another key": Reference(key2, live, "order-1", 1), "another mode": Reference(key, test, "order-1", 1),
		"another account": Reference(key, other, "order-1", 1), "another name": Reference(key, live, "order-2", 1),
		"the second attempt": Reference(key, live, "order-1", 2), "attempt 257": Reference(key, live, "order-1", 257),
		"an empty name": Reference(key, live, "", 1),
	} {
		if same := seen[got]; same != "" {
			t.Errorf("%s has the reference of %s", what, same)
		}
		seen[got] = what
	}
}
