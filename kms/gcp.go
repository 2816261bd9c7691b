//go:build gcpkms

package kms

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/waybillhq/waybill/internal/seal"
)

// gcpKey is a symmetric key of Google Cloud KMS.
type gcpKey struct {
	client *http.Client
	base   string // https://cloudkms.googleapis.com/v1/projects/...
	token  gcpToken
}

const gcpScope = "https://www.googleapis.com/auth/cloudkms"

var gcpName = regexp.MustCompile(`^projects/[^/]+/locations/[^/]+/keyRings/[^/]+/cryptoKeys/[^/]+$`)

// openGCP reads the name of a key. The program signs in as the service account
// whose key file GOOGLE_APPLICATION_CREDENTIALS names, or else as the machine's
// own, by the metadata server. GCP_KMS_ENDPOINT is an address to send to
// instead, such as that of a private endpoint.
func openGCP(key string, env func(string) (string, bool)) (seal.Wrapper, error) {
	if !gcpName.MatchString(key) {
		return nil, errors.New("the URL of a Google Cloud key must be gcp-kms://projects/P/locations/L/keyRings/R/cryptoKeys/K")
	}
	endpoint := lookup(env, "GCP_KMS_ENDPOINT")
	if endpoint == "" {
		endpoint = "https://cloudkms.googleapis.com"
	}

	client := newClient(nil)
	gcp := &gcpKey{client: client, base: strings.TrimRight(endpoint, "/") + "/v1/" + key}
	gcp.token.fetch = gcpMetadata(client, lookup(env, "GCE_METADATA_HOST"))
	if path := lookup(env, "GOOGLE_APPLICATION_CREDENTIALS"); path != "" {
		account, err := readServiceAccount(path)
		if err != nil {
			return nil, fmt.Errorf("GOOGLE_APPLICATION_CREDENTIALS: %w", err)
		}
		gcp.token.fetch = account.fetch(client)
	}

	return seal.NewRemote("gcp-kms://"+key, gcp.encrypt, gcp.decrypt), nil
}

type gcpRequest struct {
	Plaintext  []byte `json:"plaintext,omitempty"`
	Ciphertext []byte `json:"ciphertext,omitempty"`
	Binding    []byte `json:"additionalAuthenticatedData"`
}

type gcpAnswer struct {
	Plaintext  []byte `json:"plaintext"`
	Ciphertext []byte `json:"ciphertext"`
}

func (g *gcpKey) encrypt(ctx context.Context, plain []byte, binding string) ([]byte, error) {
	answer, err := g.do(ctx, "encrypt", gcpRequest{Plaintext: plain, Binding: []byte(binding)})
	if err == nil && len(answer.Ciphertext) == 0 {
		err = errors.New("the key service returned no data")
	}
	return answer.Ciphertext, err
}

func (g *gcpKey) decrypt(ctx context.Context, sealed []byte, binding string) ([]byte, error) {
	answer, err := g.do(ctx, "decrypt", gcpRequest{Ciphertext: sealed, Binding: []byte(binding)})
	if status, ok := errors.AsType[*statusError](err); ok && status.code == http.StatusBadRequest {
		return nil, seal.ErrOpen
	}
	return answer.Plaintext, err
}

func (g *gcpKey) do(ctx context.Context, operation string, body gcpRequest) (gcpAnswer, error) {
	var answer gcpAnswer
	token, err := g.token.get(ctx)
	if err != nil {
		return answer, fmt.Errorf("get a token for Google Cloud KMS: %w", err)
	}

	request, _, err := newRequest(ctx, g.base+":"+operation, body)
	if err != nil {
		return answer, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	if err := exchange(g.client, request, &answer); err != nil {
		return answer, fmt.Errorf("call Google Cloud KMS: %w", err)
	}
	return answer, nil
}

// gcpToken is an access token, kept until shortly before it expires.
type gcpToken struct {
	fetch func(context.Context) (gcpGrant, error)

	mu        sync.Mutex
	value     string
	expiresAt time.Time
}

// gcpEarly is how long before it expires a token is fetched again.
const gcpEarly = time.Minute

type gcpGrant struct {
	Token   string `json:"access_token"`
	Seconds int    `json:"expires_in"`
}

// get returns a token that does not expire soon. The lock is not held while it
// is fetched.
func (t *gcpToken) get(ctx context.Context) (string, error) {
	t.mu.Lock()
	value := t.value
	valid := time.Now().Before(t.expiresAt.Add(-gcpEarly))
	t.mu.Unlock()
	if valid {
		return value, nil
	}

	grant, err := t.fetch(ctx)
	if err != nil || grant.Token == "" {
		return "", errors.Join(err, errors.New("no token was returned"))
	}

	t.mu.Lock()
	defer t.mu.Unlock()
	t.value = grant.Token
	t.expiresAt = time.Now().Add(time.Duration(grant.Seconds) * time.Second)
	return t.value, nil
}

// gcpMetadata asks the machine for the token of its own service account.
func gcpMetadata(client *http.Client, host string) func(context.Context) (gcpGrant, error) {
	if host == "" {
		host = "metadata.google.internal"
	}
	return func(ctx context.Context) (grant gcpGrant, err error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+host+"/computeMetadata/v1/instance/service-accounts/default/token", nil)
		if err != nil {
			return grant, err
		}
		request.Header.Set("Metadata-Flavor", "Google")
		return grant, exchange(client, request, &grant)
	}
}

// serviceAccount is the key file of a service account.
type serviceAccount struct {
	Type     string `json:"type"`
	Email    string `json:"client_email"`
	KeyID    string `json:"private_key_id"`
	Key      string `json:"private_key"`
	TokenURI string `json:"token_uri"`
	signer   *rsa.PrivateKey
}

func readServiceAccount(path string) (*serviceAccount, error) {
	data, err := secretFile(path)
	if err != nil {
		return nil, err
	}
	account := &serviceAccount{TokenURI: "https://oauth2.googleapis.com/token"}
	if json.Unmarshal([]byte(data), account) != nil || account.Type != "service_account" {
		return nil, errors.New("the file is not the key file of a service account")
	}

	block, _ := pem.Decode([]byte(account.Key))
	if block == nil {
		return nil, errors.New("the private key is not PEM")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	signer, ok := parsed.(*rsa.PrivateKey)
	if err != nil || !ok {
		return nil, errors.New("the private key is not an RSA key")
	}
	account.signer = signer
	return account, nil
}

// fetch returns a function that exchanges a claim, signed by the account, for a
// token.
func (a *serviceAccount) fetch(client *http.Client) func(context.Context) (gcpGrant, error) {
	return func(ctx context.Context) (grant gcpGrant, err error) {
		claim, err := a.claim(time.Now())
		if err != nil {
			return grant, err
		}

		form := url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"}, "assertion": {claim}}
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, a.TokenURI, strings.NewReader(form.Encode()))
		if err != nil {
			return grant, err
		}
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		return grant, exchange(client, request, &grant)
	}
}

func (a *serviceAccount) claim(now time.Time) (string, error) {
	header, err := json.Marshal(map[string]string{"alg": "RS256", "typ": "JWT", "kid": a.KeyID})
	if err != nil {
		return "", err
	}
	claims, err := json.Marshal(map[string]any{
		"iss":   a.Email,
		"scope": gcpScope,
		"aud":   a.TokenURI,
		"iat":   now.Unix(),
		"exp":   now.Add(time.Hour).Unix(),
	})
	if err != nil {
		return "", err
	}

	text := base64.RawURLEncoding.EncodeToString(header) + "." + base64.RawURLEncoding.EncodeToString(claims)
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, a.signer, crypto.SHA256, sum[:])
	if err != nil {
		return "", err
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(signature), nil
}
