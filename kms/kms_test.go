//go:build awskms && gcpkms && vault

package kms

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	gocrypto "crypto"

	"github.com/waybillhq/waybill/internal/seal"
)

// place is what the envelopes of the tests are bound to.
var place = []string{"acct_1", "test", "con_1", "credentials"}

func testKey(c byte) []byte { return bytes.Repeat([]byte{c}, 32) }

func newBox(t testing.TB, keys ...[]byte) *seal.Box {
	t.Helper()
	box, err := seal.New(keys...)
	if err != nil {
		t.Fatal(err)
	}
	return box
}

func envelopeOf(t *testing.T, w seal.Wrapper, secret string, place ...string) seal.Envelope {
	t.Helper()
	envelope, err := seal.SealEnvelope(t.Context(), w, []byte(secret), place...)
	if err != nil {
		t.Fatal(err)
	}
	return envelope
}

// stand is a stand-in for all three services over real HTTP. It seals with a
// box, so that a changed place or ciphertext is refused as a service would.
type stand struct {
	*httptest.Server
	box    *seal.Box
	calls  atomic.Int64
	logins atomic.Int64
	down   atomic.Bool
	signer *rsa.PrivateKey
}

func newStand(t *testing.T) *stand {
	t.Helper()
	s := &stand{box: newBox(t, testKey(9))}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/transit/encrypt/shop", s.vault)
	mux.HandleFunc("POST /v1/transit/decrypt/shop", s.vault)
	mux.HandleFunc("POST /v1/projects/", s.gcp)
	mux.HandleFunc("POST /token", s.jwt)
	mux.HandleFunc("GET /computeMetadata/v1/instance/service-accounts/default/token", s.metadata)
	mux.HandleFunc("PUT /latest/api/token", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "session") })
	mux.HandleFunc("GET /latest/meta-data/iam/security-credentials/{role...}", s.machine)
	mux.HandleFunc("GET /container", s.container)
	mux.HandleFunc("POST /sts/", s.sts)
	mux.HandleFunc("POST /{$}", s.aws)
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func (s *stand) host() string { return strings.TrimPrefix(s.URL, "http://") }

// crypt answers with what becomes of the data; nil data means it is refused.
func (s *stand) crypt(plain, sealed []byte, place string) (outPlain, outSealed []byte, ok bool) {
	s.calls.Add(1)
	if sealed == nil {
		return nil, s.box.Seal(plain, place), true
	}
	plain, err := s.box.Open(sealed, place)
	return plain, nil, err == nil
}

func answer(w http.ResponseWriter, v any) { _ = json.NewEncoder(w).Encode(v) }

func (s *stand) unavailable(w http.ResponseWriter) bool {
	if s.down.Load() {
		http.Error(w, "down", http.StatusServiceUnavailable)
		return true
	}
	return false
}

func (s *stand) vault(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Plaintext  []byte `json:"plaintext"`
		Ciphertext string `json:"ciphertext"`
		Place      []byte `json:"associated_data"`
	}
	if r.Header.Get("X-Vault-Token") != "vault-token" || r.Header.Get("X-Vault-Namespace") != "team" {
		http.Error(w, "permission denied", http.StatusForbidden)
		return
	}
	if s.unavailable(w) || json.NewDecoder(r.Body).Decode(&in) != nil {
		return
	}
	sealed, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(in.Ciphertext, "vault:v1:"))
	if in.Ciphertext == "" {
		sealed = nil
	}
	plain, out, ok := s.crypt(in.Plaintext, sealed, string(in.Place))
	if !ok {
		http.Error(w, `{"errors":["cipher: message authentication failed"]}`, http.StatusBadRequest)
		return
	}
	text := ""
	if out != nil {
		text = "vault:v1:" + base64.StdEncoding.EncodeToString(out)
	}
	answer(w, map[string]any{"data": map[string]any{"ciphertext": text, "plaintext": plain}})
}

func (s *stand) gcp(w http.ResponseWriter, r *http.Request) {
	var in, out gcpRequest
	if r.Header.Get("Authorization") != "Bearer gcp-token" {
		http.Error(w, "unauthenticated", http.StatusUnauthorized)
		return
	}
	if s.unavailable(w) || json.NewDecoder(r.Body).Decode(&in) != nil {
		return
	}
	var ok bool
	if out.Plaintext, out.Ciphertext, ok = s.crypt(in.Plaintext, in.Ciphertext, string(in.Binding)); !ok {
		http.Error(w, "Decryption failed", http.StatusBadRequest)
		return
	}
	answer(w, out)
}

func (s *stand) jwt(w http.ResponseWriter, r *http.Request) {
	s.logins.Add(1)
	parts := strings.Split(r.FormValue("assertion"), ".")
	signature, _ := base64.RawURLEncoding.DecodeString(parts[len(parts)-1])
	sum := sha256.Sum256([]byte(strings.Join(parts[:2], ".")))
	if rsa.VerifyPKCS1v15(&s.signer.PublicKey, gocrypto.SHA256, sum[:], signature) != nil {
		http.Error(w, "invalid_grant", http.StatusBadRequest)
		return
	}
	answer(w, gcpGrant{"gcp-token", 3600})
}

func (s *stand) metadata(w http.ResponseWriter, r *http.Request) {
	s.logins.Add(1)
	if r.Header.Get("Metadata-Flavor") == "Google" {
		answer(w, gcpGrant{"gcp-token", 3600})
	}
}

var awsGiven = awsGrant{ID: "AKIDEXAMPLE", Secret: "aws-secret", Token: "aws-session", Expiration: time.Now().Add(time.Hour)}

func (s *stand) machine(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Header.Get("X-Aws-Ec2-Metadata-Token") != "session":
		http.Error(w, "no session", http.StatusUnauthorized)
	case r.PathValue("role") == "":
		fmt.Fprint(w, "my-role")
	case r.PathValue("role") == "my-role":
		s.logins.Add(1)
		answer(w, awsGiven)
	}
}

func (s *stand) container(w http.ResponseWriter, r *http.Request) {
	s.logins.Add(1)
	if r.Header.Get("Authorization") == "pod-token" {
		answer(w, awsGiven)
	}
}

func (s *stand) sts(w http.ResponseWriter, r *http.Request) {
	s.logins.Add(1)
	if r.FormValue("WebIdentityToken") != "pod-jwt" || r.FormValue("RoleArn") != "arn:aws:iam::1:role/r" {
		http.Error(w, "denied", http.StatusForbidden)
		return
	}
	fmt.Fprintf(w, `{"AssumeRoleWithWebIdentityResponse":{"AssumeRoleWithWebIdentityResult":{"Credentials":{"AccessKeyId":%q,"SecretAccessKey":%q,"SessionToken":%q,"Expiration":%d}}}}`,
		awsGiven.ID, awsGiven.Secret, awsGiven.Token, awsGiven.Expiration.Unix())
}

// aws signs the request again and compares: the signer itself is held to AWS's
// own example by another test.
func (s *stand) aws(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	at, _ := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	again, _ := http.NewRequest(http.MethodPost, s.URL+"/", nil)
	for _, name := range []string{"Content-Type", "X-Amz-Target"} {
		again.Header.Set(name, r.Header.Get(name))
	}
	awsSign(again, body, awsGiven.credentials(), "eu-central-1", "kms", at)
	if r.Header.Get("Authorization") != again.Header.Get("Authorization") {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"__type":"IncompleteSignatureException"}`)
		return
	}
	var in awsRequest
	if s.unavailable(w) || json.Unmarshal(body, &in) != nil {
		return
	}
	plain, sealed, ok := s.crypt(in.Plaintext, in.Ciphertext, in.Context["waybill"])
	if !ok {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"__type":"com.amazonaws.kms#InvalidCiphertextException"}`)
		return
	}
	answer(w, awsAnswer{plain, sealed})
}

// keyFile writes the key file of a service account that the stand knows.
func (s *stand) keyFile(t *testing.T) string {
	t.Helper()
	var err error
	if s.signer, err = rsa.GenerateKey(rand.Reader, 2048); err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(s.signer)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(serviceAccount{
		Type: "service_account", Email: "w@p.iam", KeyID: "1", TokenURI: s.URL + "/token",
		Key: string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
	})
	if err != nil {
		t.Fatal(err)
	}
	return file(t, string(text))
}

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const (
	awsAddress = "aws-kms://arn:aws:kms:eu-central-1:1:key/k"
	gcpAddress = "gcp-kms://projects/p/locations/l/keyRings/r/cryptoKeys/k"
)

func TestEveryKeyServiceWrapsForAPlace(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	vault := "hcvault://" + s.host() + "/transit/keys/shop"
	for _, tc := range []struct {
		name, address string
		env           map[string]string
		logins        int64
	}{
		{"vault by token", vault, map[string]string{"VAULT_TOKEN": "vault-token", "VAULT_NAMESPACE": "team", "VAULT_ADDR": s.URL}, 0},
		{"vault by an agent's file", vault, map[string]string{"VAULT_TOKEN_FILE": file(t, "vault-token\n"), "VAULT_NAMESPACE": "team", "VAULT_ADDR": s.URL}, 0},
		{"google by a key file", gcpAddress, map[string]string{"GCP_KMS_ENDPOINT": s.URL, "GOOGLE_APPLICATION_CREDENTIALS": s.keyFile(t)}, 1},
		{"google by the machine", gcpAddress, map[string]string{"GCP_KMS_ENDPOINT": s.URL, "GCE_METADATA_HOST": s.host()}, 1},
		{"aws by keys", awsAddress, map[string]string{"AWS_ENDPOINT_URL_KMS": s.URL, "AWS_ACCESS_KEY_ID": awsGiven.ID, "AWS_SECRET_ACCESS_KEY": awsGiven.Secret, "AWS_SESSION_TOKEN": awsGiven.Token}, 0},
		{"aws by a pod's account", awsAddress, map[string]string{"AWS_ENDPOINT_URL_KMS": s.URL, "AWS_ENDPOINT_URL_STS": s.URL + "/sts", "AWS_WEB_IDENTITY_TOKEN_FILE": file(t, "pod-jwt"), "AWS_ROLE_ARN": "arn:aws:iam::1:role/r"}, 1},
		{"aws by a container's role", awsAddress, map[string]string{"AWS_ENDPOINT_URL_KMS": s.URL, "AWS_CONTAINER_CREDENTIALS_FULL_URI": s.URL + "/container", "AWS_CONTAINER_AUTHORIZATION_TOKEN": "pod-token"}, 1},
		{"aws by the machine", awsAddress, map[string]string{"AWS_ENDPOINT_URL_KMS": s.URL, "AWS_EC2_METADATA_SERVICE_ENDPOINT": s.URL}, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before := s.logins.Load()
			w, err := Open(tc.address, func(name string) (string, bool) { v, ok := tc.env[name]; return v, ok })
			if err != nil {
				t.Fatal(err)
			}
			checkWrapper(t, s, w)
			if n := s.logins.Load() - before; n != tc.logins {
				t.Errorf("it signed in %d times", n)
			}
		})
	}
}

func checkWrapper(t *testing.T, s *stand, w seal.Wrapper) {
	t.Helper()
	e := envelopeOf(t, w, "hunter2", place...)
	if got, err := e.Open(t.Context(), w, place...); err != nil || string(got) != "hunter2" || w.Old(e.Key) {
		t.Fatalf("Open = %q, %v", got, err)
	}
	if _, err := e.Open(t.Context(), w, "elsewhere"); !errors.Is(err, seal.ErrOpen) || errors.Is(err, seal.ErrNoKey) {
		t.Errorf("elsewhere: %v", err)
	}
	box := newBox(t, testKey(1))
	calls := s.calls.Load()
	if _, err := envelopeOf(t, box, "x", place...).Open(t.Context(), w, place...); !errors.Is(err, seal.ErrNoKey) || s.calls.Load() != calls {
		t.Errorf("a box's envelope: %v, and the service is asked", err)
	}
	if got, err := e.Open(t.Context(), seal.Ring{box, w}, place...); err != nil || string(got) != "hunter2" {
		t.Errorf("in a ring: %q, %v", got, err)
	}
	s.down.Store(true)
	defer s.down.Store(false)
	if _, err := e.Open(t.Context(), w, place...); err == nil || errors.Is(err, seal.ErrOpen) {
		t.Errorf("a service that is down: %v", err)
	}
}

// The example of AWS's own documentation of Signature Version 4.
func TestAWSRequestsAreSignedAsAWSDoes(t *testing.T) {
	t.Parallel()
	req, err := http.NewRequest(http.MethodGet, "https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	who := awsCredentials{id: "AKIDEXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}
	awsSign(req, nil, who, "us-east-1", "iam", time.Date(2015, 8, 30, 12, 36, 0, 0, time.UTC))
	want := "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request, SignedHeaders=content-type;host;x-amz-date, " +
		"Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7"
	if got := req.Header.Get("Authorization"); got != want {
		t.Errorf("signed %s\nwant   %s", got, want)
	}
}

func TestWrongAddressesOfKeysAreRefused(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"aws-kms://key", "aws-kms://arn:aws:s3:us-east-1:1:key/k", "gcp-kms://projects/p", "hcvault://host", "hcvault://host/transit/k", "x", ""} {
		if _, err := Open(address, func(string) (string, bool) { return "", false }); err == nil {
			t.Errorf("%q is taken", address)
		}
	}
}

func TestVaultIsAskedInTheClearOnThisMachineAlone(t *testing.T) {
	t.Parallel()
	for _, tc := range [][3]string{
		{"vault.example.com:8200", "http://vault.example.com:8200", "https"},
		{"127.0.0.1:8200", "http://127.0.0.1:8200", "http"},
		{"localhost:8200", "http://localhost:8200", "http"},
		{"127.0.0.1:8200", "", "https"},
	} {
		if got := vaultScheme(tc[0], tc[1]); got != tc[2] {
			t.Errorf("%s with VAULT_ADDR=%s: %s", tc[0], tc[1], got)
		}
	}
}
