package seal_test

import (
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/seal"
)

func TestATokenIsReadOnlyForItsPurposeAndKey(t *testing.T) {
	t.Parallel()
	type claims struct{ Name string }
	signer := seal.NewSigner([]byte("key"))
	token := signer.Sign("label", claims{"Ada"})

	var got claims
	if !signer.Verify("label", token, &got) || got.Name != "Ada" {
		t.Errorf("read %+v of %s", got, token)
	}

	body, signature, _ := strings.Cut(token, ".")
	other := seal.NewSigner([]byte("another key")).Sign("label", claims{"Ada"})
	for name, token := range map[string]string{
		"another purpose": signer.Sign("rate", claims{"Ada"}),
		"another key":     other,
		"other claims":    "e30." + signature,
		"no signature":    body,
		"not base64":      body + ".%",
		"nothing":         "",
	} {
		if signer.Verify("label", token, &claims{}) {
			t.Errorf("%s: %s is accepted", name, token)
		}
	}
}
