package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"net/smtp"
	"net/url"
	"strings"
	"time"
)

// mailTime is how long a message may take.
const mailTime = 30 * time.Second

// A Mailer hands plain messages to one SMTP server. It has no recipients of its
// own: its callers say to whom, and what.
type Mailer struct {
	host, port     string
	implicit       bool // TLS from the first byte
	user, password string
	from           *mail.Address
}

// NewMailer returns a mailer to the server, which is
// smtp://user:password@host:587, or smtps:// for TLS from the first byte. Over
// smtp:// the connection is encrypted if the server can, and a password is sent
// only over an encrypted connection or to this machine.
func NewMailer(server *url.URL, from *mail.Address) *Mailer {
	m := &Mailer{
		host:     server.Hostname(),
		port:     server.Port(),
		implicit: server.Scheme == "smtps",
		user:     server.User.Username(),
		from:     from,
	}
	m.password, _ = server.User.Password()

	if m.port == "" {
		m.port = "587"
		if m.implicit {
			m.port = "465"
		}
	}
	return m
}

// Send sends a text to all addresses in one message. If the error is nil it was
// sent, to those of them that the server takes; otherwise it may have been.
func (m *Mailer) Send(ctx context.Context, to []string, subject, text string) error {
	ctx, cancel := context.WithTimeout(ctx, mailTime)
	defer cancel()

	client, err := m.connect(ctx)
	if err != nil {
		return fmt.Errorf("mail server: %w", err)
	}
	defer func() { _ = client.Close() }() // after Quit it is closed already

	if err := client.Mail(m.from.Address); err != nil {
		return fmt.Errorf("mail server: %w", err)
	}
	// One that is no longer there must not keep the message from the others.
	var refused []error
	for _, recipient := range to {
		if err := client.Rcpt(recipient); err != nil {
			refused = append(refused, err)
		}
	}
	if len(refused) > 0 && len(refused) == len(to) {
		return fmt.Errorf("mail server: %w", errors.Join(refused...))
	}

	w, err := client.Data()
	if err != nil {
		return fmt.Errorf("mail server: %w", err)
	}
	if _, err := w.Write(m.message(to, subject, text)); err != nil {
		return fmt.Errorf("mail server: %w", err)
	}

	// The server accepts the message with its answer to Close. What becomes of
	// the connection after that changes nothing.
	if err := w.Close(); err != nil {
		return fmt.Errorf("mail server: %w", err)
	}
	_ = client.Quit()
	return nil
}

// connect greets the server, encrypted where that is possible.
func (m *Mailer) connect(ctx context.Context) (*smtp.Client, error) {
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(m.host, m.port))
	if err != nil {
		return nil, err
	}
	if deadline, ok := ctx.Deadline(); ok {
		_ = connection.SetDeadline(deadline) // net/smtp does not support contexts
	}

	settings := &tls.Config{ServerName: m.host, MinVersion: tls.VersionTLS12}
	if m.implicit {
		connection = tls.Client(connection, settings)
	}
	client, err := smtp.NewClient(connection, m.host)
	if err != nil {
		connection.Close()
		return nil, err
	}

	if able, _ := client.Extension("STARTTLS"); able && !m.implicit {
		err = client.StartTLS(settings)
	}
	if err == nil && m.user != "" {
		// PlainAuth refuses to send a password in clear, except to this machine.
		err = client.Auth(smtp.PlainAuth("", m.user, m.password, m.host))
	}
	if err != nil {
		_ = client.Close()
		return nil, err
	}
	return client, nil
}

// message returns the text with its header.
func (m *Mailer) message(to []string, subject, text string) []byte {
	var b strings.Builder

	// A line break in a value would begin a header of its own.
	oneLine := strings.NewReplacer("\r", " ", "\n", " ")
	head := func(name, value string) {
		b.WriteString(name + ": " + oneLine.Replace(value) + "\r\n")
	}

	head("From", m.from.String())
	head("To", strings.Join(to, ", "))
	head("Subject", mime.QEncoding.Encode("utf-8", subject))
	head("Date", time.Now().Format(time.RFC1123Z))
	head("MIME-Version", "1.0")
	head("Content-Type", "text/plain; charset=utf-8")
	head("Content-Transfer-Encoding", "quoted-printable")
	head("Auto-Submitted", "auto-generated")
	b.WriteString("\r\n")

	w := quotedprintable.NewWriter(&b)
	_, _ = w.Write([]byte(text)) // into memory
	_ = w.Close()
	return []byte(b.String())
}
