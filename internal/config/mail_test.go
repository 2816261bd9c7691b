package config_test

import (
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/config"
)

func TestAMailServerIsAnAddressAndHasASender(t *testing.T) {
	t.Parallel()
	const from = "Waybill <waybill@example.com>"
	for _, one := range []struct{ server, from, wrong string }{
		{"smtp://user:hunter2@mail.example.com:587", from, ""},
		{"smtps://mail.example.com", "waybill@example.com", ""},
		{"", "", ""},
		{"mail.example.com", from, "SMTP_URL"},
		{"http://user:hunter2@mail.example.com", from, "SMTP_URL"},
		{"smtp://", from, "SMTP_URL"},
		{"smtp://mail.example.com", "nobody", "MAIL_FROM"},
		{"smtp://mail.example.com", "", "SMTP_URL and MAIL_FROM"},
		{"", from, "SMTP_URL and MAIL_FROM"},
	} {
		c, err := config.Load(lookup(map[string]string{"DATABASE_URL": database, "SMTP_URL": one.server, "MAIL_FROM": one.from}))
		switch {
		case one.wrong == "" && err != nil:
			t.Errorf("%s from %s: %v", one.server, one.from, err)
		case one.wrong != "" && (err == nil || !strings.Contains(err.Error(), one.wrong)):
			t.Errorf("%s from %s: %v, want a word on %s", one.server, one.from, err, one.wrong)
		case err != nil && strings.Contains(err.Error(), "hunter2"):
			t.Errorf("the error repeats the password: %v", err)
		case one.wrong == "" && (c.SMTPURL == nil) != (one.server == ""):
			t.Errorf("%s is read as %v", one.server, c.SMTPURL)
		}
	}
}
