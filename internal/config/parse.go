package config

import (
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/mail"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// env is the environment, and what was found while reading it.
type env struct {
	lookup   func(string) (string, bool)
	settings []Setting
	errs     []error
}

// required is the fallback of a setting that must be set.
const required = "\x00"

// get reads one setting. An empty value is the same as none.
func get[T any](e *env, name, fallback string, parse func(string) (T, error), help string) T {
	e.settings = append(e.settings, Setting{
		Name:    name,
		Default: strings.TrimPrefix(fallback, required),
		Help:    help,
	})

	text, _ := e.lookup(name)
	if text = strings.TrimSpace(text); text == "" {
		text = fallback
	}
	if text == required {
		e.errs = append(e.errs, fmt.Errorf("%s is not set: %s", name, help))
		var none T
		return none
	}

	value, err := parse(text)
	if err != nil {
		e.errs = append(e.errs, fmt.Errorf("%s %w", name, err))
	}
	return value
}

// The parsers follow. Their errors continue a sentence that begins with the
// setting's name. They never repeat the value, which may be a secret.

func text(s string) (string, error) { return s, nil }

func optional[T any](parse func(string) (T, error)) func(string) (T, error) {
	return func(s string) (T, error) {
		if s == "" {
			var none T
			return none, nil
		}
		return parse(s)
	}
}

func orOff(parse func(string) (string, error)) func(string) (string, error) {
	return func(s string) (string, error) {
		if strings.EqualFold(s, "off") {
			return "", nil
		}
		return parse(s)
	}
}

func oneOf(words ...string) func(string) (string, error) {
	return func(s string) (string, error) {
		s = strings.ToLower(s)
		if !slices.Contains(words, s) {
			return "", fmt.Errorf("must be one of %s", strings.Join(words, ", "))
		}
		return s, nil
	}
}

func onOff(s string) (bool, error) {
	word, err := oneOf("on", "off")(s)
	return word == "on", err
}

func trueOrFalse(s string) (bool, error) {
	word, err := oneOf("true", "false")(s)
	return word == "true", err
}

func list[T any](parse func(string) (T, error)) func(string) ([]T, error) {
	return func(s string) ([]T, error) {
		var all []T
		for part := range strings.SplitSeq(s, ",") {
			if part = strings.TrimSpace(part); part == "" {
				continue
			}
			value, err := parse(part)
			if err != nil {
				return nil, err
			}
			all = append(all, value)
		}
		return all, nil
	}
}

func wholeNumber[T int | int32 | int64](least, most T) func(string) (T, error) {
	return func(s string) (T, error) {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || n < int64(least) || n > int64(most) {
			return 0, fmt.Errorf("must be a whole number from %d to %d", least, most)
		}
		return T(n), nil
	}
}

func atLeast(least time.Duration) func(string) (time.Duration, error) {
	return func(s string) (time.Duration, error) {
		duration, err := time.ParseDuration(s)
		if err != nil {
			return 0, errors.New("must be a duration such as 30s or 5m")
		}
		if duration < least {
			return 0, fmt.Errorf("must be at least %s", least)
		}
		return duration, nil
	}
}

// orZero accepts 0 beside what parse accepts.
func orZero(parse func(string) (time.Duration, error)) func(string) (time.Duration, error) {
	return func(s string) (time.Duration, error) {
		if duration, err := time.ParseDuration(s); err == nil && duration == 0 {
			return 0, nil
		}
		return parse(s)
	}
}

func level(s string) (slog.Level, error) {
	var parsed slog.Level
	if err := parsed.UnmarshalText([]byte(s)); err != nil {
		return parsed, errors.New("must be DEBUG, INFO, WARN or ERROR")
	}
	return parsed, nil
}

func hostPort(s string) (string, error) {
	_, port, err := net.SplitHostPort(s)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return "", errors.New("must be host:port, such as 127.0.0.1:8080")
	}
	return s, nil
}

// prefix parses a network; a bare address is a network of one.
func prefix(s string) (netip.Prefix, error) {
	if address, err := netip.ParseAddr(s); err == nil && address.Zone() == "" {
		return netip.PrefixFrom(address, address.BitLen()), nil
	}
	network, err := netip.ParsePrefix(s)
	if err != nil {
		return network, errors.New("must be networks such as 10.0.0.0/8, comma-separated")
	}
	return network.Masked(), nil
}

func baseURL(s string) (string, error) {
	address, err := url.Parse(s)
	if err != nil || address.Scheme != "http" && address.Scheme != "https" || !isPlain(address) {
		return "", errors.New("must be a URL such as https://ship.example.com")
	}
	return strings.TrimRight(s, "/"), nil
}

// useTLS says what to do about an address without TLS.
const useTLS = "put a proxy that terminates TLS in front of the service, and set BASE_URL to its https address"

// publicURL parses the address of the service itself. API keys, sessions and
// people's addresses are sent to it, so it must use TLS, except on this machine.
func publicURL(s string) (string, error) {
	parsed, err := baseURL(s)
	if err != nil {
		return "", err
	}
	if address, err := url.Parse(parsed); err != nil || !isConfidential(address) {
		return "", errors.New("must begin with https:// unless it is this machine (localhost, 127.0.0.1 or [::1]), because API keys, sessions and addresses would be sent unencrypted: " + useTLS)
	}
	return parsed, nil
}

// issuer parses the name of an identity provider. It is compared byte for byte,
// so a trailing slash is kept.
func issuer(s string) (string, error) {
	address, err := url.Parse(s)
	if err != nil || !isPlain(address) || !isConfidential(address) {
		return "", errors.New("must be a URL such as https://login.example.com; http is allowed only for this machine")
	}
	return s, nil
}

// isPlain reports whether an address has a host, and neither credentials nor a
// query nor a fragment.
func isPlain(address *url.URL) bool {
	return address.Host != "" && address.User == nil && address.RawQuery == "" && address.Fragment == ""
}

// isConfidential reports whether secrets may be sent to an address: over TLS, or
// on this machine.
func isConfidential(address *url.URL) bool {
	return address.Scheme == "https" || address.Scheme == "http" && isLoopback(address.Hostname())
}

func smtpURL(s string) (*url.URL, error) {
	address, err := url.Parse(s)
	if err != nil || address.Hostname() == "" || address.Scheme != "smtp" && address.Scheme != "smtps" {
		return nil, errors.New("must be smtp://user:password@host:587 or smtps://user:password@host:465")
	}
	return address, nil
}

func mailAddress(s string) (*mail.Address, error) {
	address, err := mail.ParseAddress(s)
	if err != nil {
		return nil, errors.New("must be an e-mail address, such as Waybill <waybill@example.com>")
	}
	return address, nil
}

func databaseURL(s string) (string, error) {
	address, err := url.Parse(s)
	if err != nil || address.Scheme != "postgres" && address.Scheme != "postgresql" {
		return "", errors.New("must be a URL such as postgres://user:password@host:5432/waybill")
	}
	return s, nil
}

func key(s string) ([]byte, error) {
	decoded, err := base64.StdEncoding.DecodeString(s)
	if err != nil || len(decoded) < 32 {
		return nil, errors.New("must be at least 32 bytes as base64, such as the output of openssl rand -base64 32")
	}
	return decoded, nil
}

// signingKey parses a key, or the word for the one in the database, which is nil.
func signingKey(s string) ([]byte, error) {
	if s == "database" {
		return nil, nil
	}
	return key(s)
}

func kmsAddress(s string) (string, error) {
	if s == LocalKeys {
		return s, nil
	}
	scheme, key, _ := strings.Cut(s, "://")
	if !slices.Contains([]string{"aws-kms", "gcp-kms", "hcvault"}, scheme) || key == "" {
		return "", errors.New("must be local or a URL that starts with aws-kms://, gcp-kms:// or hcvault://")
	}
	return s, nil
}

// carrierURLs parses name=address pairs. Credentials are sent to these addresses,
// so they must use TLS, except on this machine.
func carrierURLs(s string) (map[string]string, error) {
	addresses := map[string]string{}
	_, err := list(func(pair string) (string, error) {
		name, text, _ := strings.Cut(pair, "=")
		name = strings.TrimSpace(name)
		text = strings.TrimSpace(text)

		address, err := url.Parse(text)
		if err != nil || name == "" || !isPlain(address) || !isConfidential(address) {
			return "", errors.New("must be carriers and URLs such as ups=https://proxy.example.com, comma-separated; http is allowed only for this machine")
		}
		addresses[name] = text
		return name, nil
	})(s)
	return addresses, err
}

// carrierQuotas parses pairs such as usps=10000/1h.
func carrierQuotas(s string) (map[string]Quota, error) {
	quotas := map[string]Quota{}
	_, err := list(func(pair string) (string, error) {
		name, text, _ := strings.Cut(pair, "=")
		name = strings.TrimSpace(name)

		number, period, _ := strings.Cut(strings.TrimSpace(text), "/")
		calls, err := strconv.Atoi(number)
		var per time.Duration
		if err == nil && calls > 0 {
			per, err = time.ParseDuration(period)
		}

		if err != nil || name == "" || calls < 0 || calls > 0 && per <= 0 {
			return "", errors.New("must be carriers and call quotas such as usps=10000/1h, comma-separated; 0 for no limit")
		}
		quotas[name] = Quota{calls, per}
		return name, nil
	})(s)
	return quotas, err
}

// fraction parses a number above 0, up to 1.
func fraction(s string) (float64, error) {
	value, err := strconv.ParseFloat(s, 64)
	if err != nil || !(value > 0 && value <= 1) {
		return 1, errors.New("must be a number above 0 and at most 1, such as 0.001")
	}
	return value, nil
}

func isUnspecified(host string) bool {
	ip := net.ParseIP(host)
	return ip != nil && ip.IsUnspecified()
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
