//go:build vault

package kms

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/waybillhq/waybill/internal/seal"
)

// vaultKey is a key of a Vault transit engine.
type vaultKey struct {
	client    *http.Client
	base      string // https://host:port/v1/mount
	name      string
	namespace string
	token     func() (string, error)
}

// openVault reads HOST:PORT/MOUNT/keys/NAME, and from env VAULT_TOKEN or
// VAULT_TOKEN_FILE, VAULT_NAMESPACE, VAULT_CACERT and VAULT_ADDR. The key must
// be one that takes associated data, such as aes256-gcm96.
func openVault(key string, env func(string) (string, bool)) (seal.Wrapper, error) {
	host, path, _ := strings.Cut(key, "/")
	mount, name, ok := strings.Cut(path, "/keys/")
	if host == "" || mount == "" || !ok || name == "" {
		return nil, errors.New("the URL of a Vault key must be hcvault://HOST:PORT/MOUNT/keys/NAME")
	}

	trust, err := vaultTrust(lookup(env, "VAULT_CACERT"))
	if err != nil {
		return nil, err
	}
	vault := &vaultKey{
		client:    newClient(trust),
		base:      vaultScheme(host, lookup(env, "VAULT_ADDR")) + "://" + host + "/v1/" + mount,
		name:      url.PathEscape(name),
		namespace: lookup(env, "VAULT_NAMESPACE"),
		token:     func() (string, error) { return vaultToken(env) },
	}

	return seal.NewRemote("hcvault://"+key, vault.encrypt, vault.decrypt), nil
}

// vaultToken reads the token at each call: an agent keeps the file fresh.
func vaultToken(env func(string) (string, bool)) (string, error) {
	if path := lookup(env, "VAULT_TOKEN_FILE"); path != "" {
		return secretFile(path)
	}
	if token := lookup(env, "VAULT_TOKEN"); token != "" {
		return token, nil
	}
	return "", errors.New("neither VAULT_TOKEN nor VAULT_TOKEN_FILE is set")
}

// vaultScheme returns https, except for a Vault on this machine that VAULT_ADDR
// says speaks plain http.
func vaultScheme(host, address string) string {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}

	ip := net.ParseIP(name)
	isLocal := name == "localhost" || ip != nil && ip.IsLoopback()
	if isLocal && address == "http://"+host {
		return "http"
	}
	return "https"
}

func vaultTrust(path string) (*tls.Config, error) {
	trust := &tls.Config{MinVersion: tls.VersionTLS12}
	if path == "" {
		return trust, nil
	}

	pem, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("VAULT_CACERT: %w", err)
	}
	trust.RootCAs = x509.NewCertPool()
	if !trust.RootCAs.AppendCertsFromPEM(pem) {
		return nil, errors.New("VAULT_CACERT contains no certificate")
	}
	return trust, nil
}

type vaultRequest struct {
	Plaintext  []byte `json:"plaintext,omitempty"`
	Ciphertext string `json:"ciphertext,omitempty"`
	Binding    []byte `json:"associated_data"`
}

type vaultAnswer struct {
	Data struct {
		Plaintext  []byte `json:"plaintext"`
		Ciphertext string `json:"ciphertext"`
	} `json:"data"`
}

func (v *vaultKey) encrypt(ctx context.Context, plain []byte, binding string) ([]byte, error) {
	answer, err := v.do(ctx, "encrypt", vaultRequest{Plaintext: plain, Binding: []byte(binding)})
	if err == nil && answer.Data.Ciphertext == "" {
		err = errors.New("the key service returned no data")
	}
	return []byte(answer.Data.Ciphertext), err
}

func (v *vaultKey) decrypt(ctx context.Context, sealed []byte, binding string) ([]byte, error) {
	answer, err := v.do(ctx, "decrypt", vaultRequest{Ciphertext: string(sealed), Binding: []byte(binding)})
	if status, ok := errors.AsType[*statusError](err); ok && status.code == http.StatusBadRequest {
		return nil, seal.ErrOpen
	}
	return answer.Data.Plaintext, err
}

func (v *vaultKey) do(ctx context.Context, operation string, body vaultRequest) (vaultAnswer, error) {
	var answer vaultAnswer
	token, err := v.token()
	if err != nil {
		return answer, fmt.Errorf("get the Vault token: %w", err)
	}

	request, _, err := newRequest(ctx, v.base+"/"+operation+"/"+v.name, body)
	if err != nil {
		return answer, err
	}
	request.Header.Set("X-Vault-Token", token)
	request.Header.Set("X-Vault-Request", "true")
	if v.namespace != "" {
		request.Header.Set("X-Vault-Namespace", v.namespace)
	}

	if err := exchange(v.client, request, &answer); err != nil {
		return answer, fmt.Errorf("call Vault: %w", err)
	}
	return answer, nil
}
