package member

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/waybillhq/waybill/internal/seal"
	"github.com/waybillhq/waybill/internal/store"
)

// The vectors of RFC 6238, appendix B, to six digits.
func TestCodesAreThoseOfTheStandard(t *testing.T) {
	t.Parallel()
	seed := []byte("12345678901234567890")
	for at, want := range map[int64]string{59: "287082", 1111111109: "081804", 1111111111: "050471", 1234567890: "005924", 2000000000: "279037", 20000000000: "353130"} {
		if got := codeAt(seed, stepAt(time.Unix(at, 0))); got != want {
			t.Errorf("at %d: %s, want %s", at, got, want)
		}
	}
}

func TestACodeIsTakenNearItsTimeAlone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.SliceOfN(rapid.Byte(), seedSize, seedSize).Draw(t, "seed")
		step := rapid.Int64Range(2, 1<<33).Draw(t, "step")
		off := rapid.Int64Range(-3, 3).Draw(t, "off")
		code := codeAt(seed, step)
		at := time.Unix((step+off)*totpStep+rapid.Int64Range(0, totpStep-1).Draw(t, "second"), 0)
		got, ok := matchingStep(seed, code, at)
		near := off >= -totpDrift && off <= totpDrift
		if near && (!ok || codeAt(seed, got) != code) {
			t.Fatalf("the code of %d steps off is not taken", off)
		}
		if ok && (codeAt(seed, got) != code || max(got-stepAt(at), stepAt(at)-got) > totpDrift) {
			t.Fatalf("the code of %d steps off is taken for that of step %d", off, got)
		}
		if _, ok := matchingStep(seed, code[:5], at); ok {
			t.Fatal("half a code is taken")
		}
	})
}

// withTOTP gives the actor an authenticator, and returns its seed and the
// recovery codes.
func (f *fixture) withTOTP(t *testing.T, a Actor) (seed []byte, codes []string) {
	t.Helper()
	setup, err := f.BeginTOTP(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	if seed, err = seedText.DecodeString(setup.Secret); err != nil {
		t.Fatal(err)
	}
	_, err = f.ConfirmTOTP(t.Context(), a, setup.Token, "000000000")
	wantCode(t, err, "wrong_code")
	if codes, err = f.ConfirmTOTP(t.Context(), a, setup.Token, f.codeOf(seed)); err != nil {
		t.Fatal(err)
	}
	return seed, codes
}

func (f *fixture) codeOf(seed []byte) string { return codeAt(seed, stepAt(f.clock())) }

// pending signs in up to the code.
func (f *fixture) pending(t *testing.T) string {
	t.Helper()
	in, err := f.signIn(t, "ada@example.com", testPassword)
	if err != nil || in.Token != "" || in.Pending == "" {
		t.Fatalf("%+v: %v", in, err)
	}
	return in.Pending
}

func (f *fixture) second(t *testing.T, pending, code string) (SignedIn, error) {
	t.Helper()
	return f.SecondFactor(t.Context(), SecondFactorInput{Pending: pending, Code: code, From: here})
}

func TestACodeSignsInOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ada := f.setUp(t)
	seed, _ := f.withTOTP(t, ada)
	pending := f.pending(t)
	_, err := f.second(t, pending, f.codeOf(seed))
	wantCode(t, err, "wrong_code") // it confirmed the authenticator
	f.pass(totpStep * time.Second)
	code := f.codeOf(seed)
	others := []string{f.pending(t), f.pending(t), f.pending(t)}
	if won := atOnce(len(others), func(i int) error {
		_, err := f.second(t, others[i], code)
		return err
	}); won != 1 {
		t.Errorf("one code signs in %d times", won)
	}
	f.pass(2 * totpStep * time.Second)
	in, err := f.second(t, pending, f.codeOf(seed)[:3]+" "+f.codeOf(seed)[3:])
	if err != nil {
		t.Fatal(err)
	}
	f.as(t, in.Token)
	_, err = f.second(t, pending, f.codeOf(seed))
	wantCode(t, err, "expired")
}

func TestAFewWrongCodesEndTheSignInAndManySlowThePersonDown(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	seed, _ := f.withTOTP(t, f.setUp(t))
	f.pass(totpStep * time.Second)
	wrong := func(code string) string { return string('0'+(code[0]-'0'+1)%10) + code[1:] }
	pending := f.pending(t)
	for range codeTries {
		_, err := f.second(t, pending, wrong(f.codeOf(seed)))
		wantCode(t, err, "wrong_code")
	}
	_, err := f.second(t, pending, f.codeOf(seed))
	wantCode(t, err, "expired")
	pending = f.pending(t)
	_, err = f.second(t, pending, wrong(f.codeOf(seed)))
	wantCode(t, err, "wrong_code")
	_, err = f.second(t, pending, f.codeOf(seed))
	wantCode(t, err, "too_many_attempts")
}

func TestARecoveryCodeIsGoodOnceAndTold(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ada := f.setUp(t)
	_, codes := f.withTOTP(t, ada)
	if len(codes) != recoveryCodes || len(codes[0]) != len("XXXX-XXXX-XXXX-XXXX-XXXX-XXXX") {
		t.Fatalf("codes %v", codes)
	}
	others := []string{f.pending(t), f.pending(t), f.pending(t)}
	if won := atOnce(len(others), func(i int) error {
		_, err := f.second(t, others[i], strings.ToLower(strings.ReplaceAll(codes[3], "-", " ")))
		return err
	}); won != 1 {
		t.Errorf("one recovery code signs in %d times", won)
	}
	if n := f.count(t, "SELECT count(*) FROM recovery_codes c WHERE c::text LIKE '%' || $1 || '%'", codes[0]); n != 0 {
		t.Error("a recovery code is stored in clear")
	}
	if p, err := f.Profile(t.Context(), ada); err != nil || p.RecoveryCodesLeft != recoveryCodes-1 || !p.HasTOTP {
		t.Errorf("profile %+v: %v", p, err)
	}
	if n := f.count(t, "SELECT count(*) FROM audit_log WHERE action = 'recovery_code.used'"); n != 1 {
		t.Errorf("%d entries", n)
	}
	fresh, err := f.NewRecoveryCodes(t.Context(), ada)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.second(t, f.pending(t), codes[0])
	wantCode(t, err, "wrong_code")
	if _, err := f.second(t, f.pending(t), fresh[0]); err != nil {
		t.Error(err)
	}
}

func TestTheSeedIsSealedAndSealedAnewWithANewKey(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ada := f.setUp(t)
	seed, _ := f.withTOTP(t, ada)
	if n := f.count(t, "SELECT count(*) FROM people WHERE position($1 IN encrypted_totp_seed) > 0", seed); n != 0 {
		t.Error("the seed is stored in clear")
	}
	box, err := seal.New([]byte(strings.Repeat("n", 32)), []byte(strings.Repeat("k", 32)))
	if err != nil {
		t.Fatal(err)
	}
	f.box = box
	f.pass(totpStep * time.Second)
	if _, err := f.second(t, f.pending(t), f.codeOf(seed)); err != nil {
		t.Fatal(err)
	}
	p, err := f.store.Person(t.Context(), ada.Person.ID)
	if err != nil || box.Old(p.TOTPSeed) {
		t.Errorf("the seed is still under the old key: %v", err)
	}
	err = f.store.InSystemTx(t.Context(), func(tx *store.Store) error { // a seed opens for its own person alone
		return tx.SetTOTP(t.Context(), ada.Person.ID, box.Seal(seed, seedPlace("per_somebody_else")...), 0)
	})
	if err != nil {
		t.Fatal(err)
	}
	f.pass(totpStep * time.Second)
	if _, err := f.second(t, f.pending(t), f.codeOf(seed)); err == nil {
		t.Error("somebody else's seed opens")
	}
}

func TestAnAuthenticatorCanBeScannedAndRemoved(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ada := f.setUp(t)
	setup, err := f.BeginTOTP(t.Context(), ada)
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(setup.URI)
	if err != nil || u.Scheme != "otpauth" || u.Host != "totp" || u.Path != "/Waybill:ada@example.com" || u.Query().Get("secret") != setup.Secret || u.Query().Get("issuer") != "Waybill" {
		t.Errorf("%s: %v", setup.URI, err)
	}
	bob, _ := f.joined(t, ada, "bob@example.com", Viewer)
	_, err = f.ConfirmTOTP(t.Context(), bob, setup.Token, "000000")
	wantCode(t, err, "expired")
	_, err = f.NewRecoveryCodes(t.Context(), ada)
	wantCode(t, err, "no_authenticator")
	seed, _ := f.withTOTP(t, ada)
	f.pass(totpStep * time.Second)
	_, err = f.StepUp(t.Context(), ada, StepUpInput{Password: testPassword})
	wantCode(t, err, "wrong_code")
	if _, err := f.StepUp(t.Context(), ada, StepUpInput{Password: testPassword, Code: f.codeOf(seed)}); err != nil {
		t.Error(err)
	}
	if err := f.RemoveTOTP(t.Context(), ada); err != nil {
		t.Fatal(err)
	}
	if in, err := f.signIn(t, "ada@example.com", testPassword); err != nil || in.Token == "" {
		t.Errorf("without the authenticator: %+v, %v", in, err)
	}
	if n := f.count(t, "SELECT count(*) FROM recovery_codes"); n != 0 {
		t.Errorf("%d recovery codes are left", n)
	}
}
