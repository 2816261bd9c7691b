package webhook

import (
	"context"
	"crypto/tls"
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

// A Mailer hands plain messages to one SMTP server. It knows nobody: its callers
// say to whom, and what.
type Mailer struct {
	host, port     string
	implicit       bool // TLS from the first byte
	user, password string
	from           *mail.Address
}

// NewMailer returns a mailer to the server, which is
// smtp://user:password@host:587, or smtps:// for TLS from the first byte. Over
// smtp:// the connection is encrypted if the server can, and a password goes
// over an encrypted one or to this machine alone.
func NewMailer(server *url.URL, from *mail.Address) *Mailer {
	m := &Mailer{host: server.Hostname(), port: server.Port(), implicit: server.Scheme == "smtps", user: server.User.Username(), from: from}
	m.password, _ = server.User.Password()
	if m.port == "" {
		m.port = map[bool]string{false: "587", true: "465"}[m.implicit]
	}
	return m
}

// Send sends a text to each of the addresses in one message. It is sent if the
// error is nil, and may have been if it is not.
func (m *Mailer) Send(ctx context.Context, to []string, subject, text string) error {
	ctx, cancel := context.WithTimeout(ctx, mailTime)
	defer cancel()
	c, err := m.connect(ctx)
	if err != nil {
		return fmt.Errorf("mail server: %w", err)
	}
	defer func() { _ = c.Close() }() // after Quit it is closed already
	if err := c.Mail(m.from.Address); err != nil {
		return fmt.Errorf("mail server: %w", err)
	}
	for _, one := range to {
		if err := c.Rcpt(one); err != nil {
			return fmt.Errorf("mail server: %w", err)
		}
	}
	w, err := c.Data()
	if err != nil {
		return fmt.Errorf("mail server: %w", err)
	}
	if _, err := w.Write(m.message(to, subject, text)); err != nil {
		return fmt.Errorf("mail server: %w", err)
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("mail server: %w", err)
	}
	_ = c.Quit() // the message is sent
	return nil
}

// connect greets the server, encrypted where that is possible.
func (m *Mailer) connect(ctx context.Context) (*smtp.Client, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(m.host, m.port))
	if err != nil {
		return nil, err
	}
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	settings := &tls.Config{ServerName: m.host, MinVersion: tls.VersionTLS12}
	if m.implicit {
		conn = tls.Client(conn, settings)
	}
	c, err := smtp.NewClient(conn, m.host)
	if err != nil {
		conn.Close()
		return nil, err
	}
	if able, _ := c.Extension("STARTTLS"); able && !m.implicit {
		err = c.StartTLS(settings)
	}
	if err == nil && m.user != "" {
		err = c.Auth(smtp.PlainAuth("", m.user, m.password, m.host)) // it refuses to send a password in clear
	}
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// message is the text with its head.
func (m *Mailer) message(to []string, subject, text string) []byte {
	var b strings.Builder
	head := func(name, value string) {
		b.WriteString(name + ": " + strings.NewReplacer("\r", " ", "\n", " ").Replace(value) + "\r\n")
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
