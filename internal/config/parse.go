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

// env is the environment while it is read.
type env struct {
	lookup   func(string) (string, bool)
	settings []Setting
	errs     []error
}

// required stands for the default of a setting that has none.
const required = "\x00"

// get reads one setting. An empty value is as good as none.
func get[T any](e *env, name, fallback string, parse func(string) (T, error), help string) T {
	e.settings = append(e.settings, Setting{Name: name, Default: strings.TrimPrefix(fallback, required), Help: help})
	value, _ := e.lookup(name)
	if value = strings.TrimSpace(value); value == "" {
		value = fallback
	}
	if value == required {
		e.errs = append(e.errs, fmt.Errorf("%s is not set: %s", name, help))
		var none T
		return none
	}
	v, err := parse(value)
	if err != nil {
		e.errs = append(e.errs, fmt.Errorf("%s %w", name, err))
	}
	return v
}

// The parsers. Their errors go on after the setting's name; they do not repeat
// values, which may be secret.

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

func list[T any](parse func(string) (T, error)) func(string) ([]T, error) {
	return func(s string) ([]T, error) {
		var all []T
		for part := range strings.SplitSeq(s, ",") {
			if part = strings.TrimSpace(part); part == "" {
				continue
			}
			v, err := parse(part)
			if err != nil {
				return nil, err
			}
			all = append(all, v)
		}
		return all, nil
	}
}

func whole[T int | int32 | int64](least, most T) func(string) (T, error) {
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
		d, err := time.ParseDuration(s)
		if err != nil {
			return 0, errors.New("must be a duration such as 30s or 5m")
		}
		if d < least {
			return 0, fmt.Errorf("must be at least %s", least)
		}
		return d, nil
	}
}

func level(s string) (slog.Level, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(s)); err != nil {
		return l, errors.New("must be DEBUG, INFO, WARN or ERROR")
	}
	return l, nil
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

// prefix reads a network; a bare address is a network of one.
func prefix(s string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(s); err == nil && addr.Zone() == "" {
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	p, err := netip.ParsePrefix(s)
	if err != nil {
		return p, errors.New("must be networks such as 10.0.0.0/8, with commas between")
	}
	return p.Masked(), nil
}

func baseURL(s string) (string, error) {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", errors.New("must be an address such as https://ship.example.com")
	}
	return strings.TrimRight(s, "/"), nil
}

// issuer reads the name of an identity provider. It is compared byte for byte,
// so a slash at its end stays.
func issuer(s string) (string, error) {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Scheme != "https" && !(u.Scheme == "http" && loopback(u.Hostname())) {
		return "", errors.New("must be an address such as https://login.example.com; http only to this machine")
	}
	return s, nil
}

func smtpURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil || u.Hostname() == "" || u.Scheme != "smtp" && u.Scheme != "smtps" {
		return nil, errors.New("must be smtp://user:password@host:587 or smtps://user:password@host:465")
	}
	return u, nil
}

func mailAddress(s string) (*mail.Address, error) {
	a, err := mail.ParseAddress(s)
	if err != nil {
		return nil, errors.New("must be an address, such as Waybill <waybill@example.com>")
	}
	return a, nil
}

func databaseURL(s string) (string, error) {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return "", errors.New("must be an address such as postgres://user:password@host:5432/waybill")
	}
	return s, nil
}

func key(s string) ([]byte, error) {
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil || len(b) < 32 {
		return nil, errors.New("must be at least 32 bytes as base64, such as openssl rand -base64 32 prints")
	}
	return b, nil
}

func kmsAddress(s string) (string, error) {
	if s == LocalKeys {
		return s, nil
	}
	scheme, key, _ := strings.Cut(s, "://")
	if !slices.Contains([]string{"aws-kms", "gcp-kms", "hcvault"}, scheme) || key == "" {
		return "", errors.New("must be local or an address that begins with aws-kms://, gcp-kms:// or hcvault://")
	}
	return s, nil
}

// carrierURLs reads name=address pairs. Credentials are sent to these
// addresses, so they are not sent in the clear but on this machine.
func carrierURLs(s string) (map[string]string, error) {
	pairs, err := list(func(pair string) ([2]string, error) {
		name, address, _ := strings.Cut(pair, "=")
		name, address = strings.TrimSpace(name), strings.TrimSpace(address)
		u, err := url.Parse(address)
		if err != nil || name == "" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Scheme != "https" && !(u.Scheme == "http" && loopback(u.Hostname())) {
			return [2]string{}, errors.New("must be carriers and addresses such as ups=https://proxy.example.com, with commas between; http only to this machine")
		}
		return [2]string{name, address}, nil
	})(s)
	all := map[string]string{}
	for _, p := range pairs {
		all[p[0]] = p[1]
	}
	return all, err
}

// carrierQuotas reads pairs such as usps=10000/1h.
func carrierQuotas(s string) (map[string]Quota, error) {
	all := map[string]Quota{}
	_, err := list(func(pair string) (string, error) {
		name, quota, _ := strings.Cut(pair, "=")
		calls, per, _ := strings.Cut(strings.TrimSpace(quota), "/")
		n, err := strconv.Atoi(calls)
		var d time.Duration
		if err == nil && n > 0 {
			d, err = time.ParseDuration(per)
		}
		if name = strings.TrimSpace(name); err != nil || name == "" || n < 0 || n > 0 && d <= 0 {
			return "", errors.New("must be carriers and calls such as usps=10000/1h, with commas between; 0 for no limit")
		}
		all[name] = Quota{n, d}
		return name, nil
	})(s)
	return all, err
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
