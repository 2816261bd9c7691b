package carrier

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// An Ability is something that a connection can do for an account, and that can be
// off until it is confirmed.
type Ability string

// The abilities that can be off. What becomes of each is said where a Carrier is asked
// for it: Buy, Find, Void and Track.
const (
	AbilityBuy   Ability = "buy"
	AbilityFind  Ability = "find"
	AbilityVoid  Ability = "void"
	AbilityTrack Ability = "track"
)

// GatedAbilities are all that can be off.
var GatedAbilities = []Ability{AbilityBuy, AbilityFind, AbilityVoid, AbilityTrack}

// Words says what the ability is, as the subject of a sentence.
func (a Ability) Words() string {
	switch a {
	case AbilityBuy:
		return "buying labels"
	case AbilityFind:
		return "looking up purchases"
	case AbilityVoid:
		return "voiding labels"
	case AbilityTrack:
		return "polling of parcels"
	}
	return string(a)
}

// WhileOff says what happens while the ability is off.
func (a Ability) WhileOff() string {
	switch a {
	case AbilityBuy:
		return "quotes leave the connection out, and purchases are refused before they are sent"
	case AbilityFind:
		return "a purchase whose response is lost is looked up, and does not count as absent if it is not found"
	case AbilityVoid:
		return "voids are refused before they are sent"
	case AbilityTrack:
		return "the carrier is not asked where parcels are; its pushes are applied"
	}
	return ""
}

// HowConfirmed says what turns the ability on, beside a certification.
func (a Ability) HowConfirmed() string {
	if a == AbilityFind {
		return "a look-up that finds a purchase of the connection"
	}
	return ""
}

// CodeUnconfirmed is the code of an error that an ability is off.
const CodeUnconfirmed = "ability_unconfirmed"

// unconfirmedRetry is how long a caller that asks again may wait.
const unconfirmedRetry = 5 * time.Minute

// A gate knows which abilities of an opened connection are off.
type gate struct {
	mu  sync.RWMutex
	off []Ability
}

// TurnOff turns abilities off that rest on a fact without a source, until they are
// confirmed.
func (c *Carrier) TurnOff(abilities ...Ability) {
	c.gate.mu.Lock()
	defer c.gate.mu.Unlock()
	for _, ability := range abilities {
		if !slices.Contains(c.gate.off, ability) {
			c.gate.off = append(c.gate.off, ability)
		}
	}
}

// TurnOn turns abilities on that were confirmed elsewhere.
func (c *Carrier) TurnOn(abilities ...Ability) {
	c.gate.mu.Lock()
	defer c.gate.mu.Unlock()
	c.gate.off = slices.DeleteFunc(c.gate.off, func(ability Ability) bool { return slices.Contains(abilities, ability) })
}

// Off lists the abilities that are off.
func (c *Carrier) Off() []Ability {
	c.gate.mu.RLock()
	defer c.gate.mu.RUnlock()
	return slices.Clone(c.gate.off)
}

// IsOff reports whether the ability is off.
func (c *Carrier) IsOff(ability Ability) bool {
	c.gate.mu.RLock()
	defer c.gate.mu.RUnlock()
	return slices.Contains(c.gate.off, ability)
}

// WhyOff returns the error of an ability that is off, and nil if it is on. It is of
// kind ship.Invalid, as a refusal of the carrier would be.
func (c *Carrier) WhyOff(ability Ability) error {
	if !c.IsOff(ability) {
		return nil
	}
	failure := ship.Coded(ship.Invalid, CodeUnconfirmed,
		`%s is off for this %s connection until it is confirmed: no public source documents how the carrier answers. Confirm it with "waybill connection certify %s --live --out DIR"`,
		ability.Words(), c.spec.Title, c.Connection)
	failure.Carrier = c.spec.Name
	return failure
}

// worked turns an ability on because the carrier has just answered as expected.
func (c *Carrier) worked(ability Ability) {
	if !c.IsOff(ability) {
		return
	}
	c.TurnOn(ability)
	if c.Confirmed != nil {
		c.Confirmed(ability)
	}
}

type unrestrictedKey struct{}

// Unrestricted marks calls that are made to confirm abilities: what is off is tried.
func Unrestricted(ctx context.Context) context.Context {
	return context.WithValue(ctx, unrestrictedKey{}, true)
}

// require returns the error of an ability that is off, unless ctx is there to confirm
// it.
func (c *Carrier) require(ctx context.Context, ability Ability) error {
	if isUnrestricted, _ := ctx.Value(unrestrictedKey{}).(bool); isUnrestricted {
		return nil
	}
	return c.WhyOff(ability)
}
