package webhook_test

import (
	"bufio"
	"io"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/webhook"
)

// letter is a message that a server received.
type letter struct {
	from string
	to   []string
	data string
}

// mailServer returns an SMTP server for one message; refuse is a command that
// it rejects, alone or with what follows.
func mailServer(t *testing.T, refuse string) (address string, got <-chan letter) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	letters := make(chan letter, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		talkMail(conn, refuse, letters)
	}()
	return "smtp://" + l.Addr().String(), letters
}

func talkMail(conn net.Conn, refuse string, letters chan<- letter) {
	in := bufio.NewReader(conn)
	say := func(s string) { io.WriteString(conn, s+"\r\n") }
	say("220 hello")
	var got letter
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimSpace(line)
		verb, rest, _ := strings.Cut(line, " ")
		switch {
		case verb == refuse || line == refuse:
			say("550 no")
		case verb == "DATA":
			say("354 go on")
			for line, err := in.ReadString('\n'); err == nil && line != ".\r\n"; line, err = in.ReadString('\n') {
				got.data += line
			}
			letters <- got
			say("250 taken")
		case verb == "QUIT":
			say("221 bye")
			return
		default:
			if verb == "MAIL" {
				got.from = rest
			}
			if verb == "RCPT" {
				got.to = append(got.to, rest)
			}
			say("250 fine")
		}
	}
}

func mailer(t *testing.T, address string) *webhook.Mailer {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return webhook.NewMailer(u, &mail.Address{Name: "Waybill", Address: "waybill@example.com"})
}

func TestAMessageArrivesAsItWasWritten(t *testing.T) {
	t.Parallel()
	address, got := mailServer(t, "")
	s := mailer(t, address)
	text := "Grüße.\nA line that is much longer than what a line of a message may be, which is seventy-six characters and no more.\n.\nend"
	if err := s.Send(t.Context(), []string{"a@example.com", "b@example.com"}, "Webhook ausgeschaltet\r\nBcc: evil@example.com: ü", text); err != nil {
		t.Fatal(err)
	}
	l := <-got
	if !strings.Contains(l.from, "<waybill@example.com>") || !slices.Equal(l.to, []string{"TO:<a@example.com>", "TO:<b@example.com>"}) {
		t.Errorf("from %q to %q", l.from, l.to)
	}
	m, err := mail.ReadMessage(strings.NewReader(l.data))
	if err != nil {
		t.Fatal(err)
	}
	subject, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
	if err != nil || !strings.HasSuffix(subject, "ü") || m.Header.Get("Bcc") != "" {
		t.Errorf("subject %q, %v, bcc %q", subject, err, m.Header.Get("Bcc"))
	}
	body, err := io.ReadAll(quotedprintable.NewReader(m.Body))
	if want := strings.ReplaceAll(text, ".\nend", "..\nend"); err != nil || strings.TrimSpace(strings.ReplaceAll(string(body), "\r\n", "\n")) != want {
		t.Errorf("the body is %q, %v", body, err)
	}
}

func TestAMailServerThatRefusesIsAnError(t *testing.T) {
	t.Parallel()
	for _, verb := range []string{"MAIL", "RCPT", "DATA"} {
		address, _ := mailServer(t, verb)
		s := mailer(t, address)
		if err := s.Send(t.Context(), []string{"a@example.com"}, "s", "t"); err == nil || !strings.Contains(err.Error(), "550") {
			t.Errorf("%s refused: %v", verb, err)
		}
	}
}

func TestAnErrorOfMailDoesNotRepeatThePassword(t *testing.T) {
	t.Parallel()
	s := mailer(t, "smtp://user:hunter2@localhost.example:1")
	if err := s.Send(t.Context(), []string{"a@example.com"}, "s", "t"); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("an unreachable server: %v", err)
	}
}

func TestOneAddressThatIsGoneDoesNotKeepAMessageFromTheOthers(t *testing.T) {
	t.Parallel()
	address, got := mailServer(t, "RCPT TO:<gone@example.com>")
	if err := mailer(t, address).Send(t.Context(), []string{"gone@example.com", "dev@example.com"}, "s", "t"); err != nil {
		t.Fatal(err)
	}
	if l := <-got; !slices.Equal(l.to, []string{"TO:<dev@example.com>"}) {
		t.Errorf("to %q", l.to)
	}
	address, _ = mailServer(t, "RCPT TO:<gone@example.com>")
	if err := mailer(t, address).Send(t.Context(), []string{"gone@example.com"}, "s", "t"); err == nil {
		t.Error("a message to nobody was sent")
	}
}
