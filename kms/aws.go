//go:build awskms

package kms

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/seal"
)

// awsKey is a symmetric key of AWS KMS.
type awsKey struct {
	client   *http.Client
	endpoint string
	region   string
	arn      string
	identity *awsIdentity
}

// openAWS reads the ARN of a key (or of an alias). The program signs in with
// the settings that AWS gives its own programs: see awsIdentity. Requests go to
// the region's endpoint, or to AWS_ENDPOINT_URL_KMS.
func openAWS(key string, env func(string) (string, bool)) (seal.Wrapper, error) {
	parts := strings.Split(key, ":")
	if len(parts) < 6 || parts[0] != "arn" || parts[2] != "kms" || parts[3] == "" {
		return nil, errors.New("the URL of an AWS key must be aws-kms://arn:aws:kms:REGION:ACCOUNT:key/ID")
	}
	region := parts[3]
	domain := awsDomain(parts[1])

	endpoint := lookup(env, "AWS_ENDPOINT_URL_KMS")
	if endpoint == "" {
		endpoint = "https://kms." + region + "." + domain
	}
	client := newClient(nil)
	aws := &awsKey{
		client:   client,
		endpoint: endpoint,
		region:   region,
		arn:      key,
		identity: newAWSIdentity(client, region, domain, env),
	}

	return seal.NewRemote("aws-kms://"+key, aws.encrypt, aws.decrypt), nil
}

func awsDomain(partition string) string {
	if partition == "aws-cn" {
		return "amazonaws.com.cn"
	}
	return "amazonaws.com"
}

type awsRequest struct {
	Key        string            `json:"KeyId"`
	Plaintext  []byte            `json:"Plaintext,omitempty"`
	Ciphertext []byte            `json:"CiphertextBlob,omitempty"`
	Context    map[string]string `json:"EncryptionContext"`
}

type awsAnswer struct {
	Plaintext  []byte `json:"Plaintext"`
	Ciphertext []byte `json:"CiphertextBlob"`
}

// awsContext returns the encryption context. It is shown in AWS's own log, and
// contains ids alone.
func awsContext(binding string) map[string]string { return map[string]string{"waybill": binding} }

func (a *awsKey) encrypt(ctx context.Context, plain []byte, binding string) ([]byte, error) {
	answer, err := a.do(ctx, "Encrypt", awsRequest{Key: a.arn, Plaintext: plain, Context: awsContext(binding)})
	if err == nil && len(answer.Ciphertext) == 0 {
		err = errors.New("the key service returned no data")
	}
	return answer.Ciphertext, err
}

func (a *awsKey) decrypt(ctx context.Context, sealed []byte, binding string) ([]byte, error) {
	answer, err := a.do(ctx, "Decrypt", awsRequest{Key: a.arn, Ciphertext: sealed, Context: awsContext(binding)})
	if awsErrorType(err) == "InvalidCiphertextException" {
		return nil, seal.ErrOpen
	}
	return answer.Plaintext, err
}

func (a *awsKey) do(ctx context.Context, operation string, body awsRequest) (awsAnswer, error) {
	var answer awsAnswer
	credentials, err := a.identity.get(ctx)
	if err != nil {
		return answer, fmt.Errorf("get credentials for AWS KMS: %w", err)
	}

	// The signature covers all headers, so they are set before.
	request, data, err := newRequest(ctx, a.endpoint+"/", body)
	if err != nil {
		return answer, err
	}
	request.Header.Set("Content-Type", "application/x-amz-json-1.1")
	request.Header.Set("X-Amz-Target", "TrentService."+operation)
	awsSign(request, data, credentials, a.region, "kms", time.Now())

	if err := exchange(a.client, request, &answer); err != nil {
		return answer, fmt.Errorf("call AWS KMS: %w %s", err, awsErrorType(err))
	}
	return answer, nil
}

// awsErrorType returns AWS's name of an error; empty if it has none.
func awsErrorType(err error) string {
	status, ok := errors.AsType[*statusError](err)
	if !ok {
		return ""
	}
	var body struct {
		Type string `json:"__type"`
	}
	if json.Unmarshal(status.body, &body) != nil {
		return ""
	}

	// The name may have a namespace: "com.amazon.coral.service#NAME".
	if i := strings.LastIndexByte(body.Type, '#'); i >= 0 {
		return body.Type[i+1:]
	}
	return body.Type
}

// awsCredentials sign requests.
type awsCredentials struct {
	id, secret, session string
	expiresAt           time.Time // zero if they do not expire
}

// awsSign signs a request by Signature Version 4, with all headers that it has.
func awsSign(request *http.Request, body []byte, credentials awsCredentials, region, service string, now time.Time) {
	stamp := now.UTC().Format("20060102T150405Z")
	request.Header.Set("X-Amz-Date", stamp)
	if credentials.session != "" {
		request.Header.Set("X-Amz-Security-Token", credentials.session)
	}

	// The canonical request has the headers in the order of their names. Go
	// keeps the host apart from the other headers.
	names := []string{"host"}
	for name := range request.Header {
		names = append(names, strings.ToLower(name))
	}
	slices.Sort(names)
	signedHeaders := strings.Join(names, ";")

	var canonical strings.Builder
	fmt.Fprintf(&canonical, "%s\n%s\n%s\n", request.Method, request.URL.EscapedPath(), request.URL.Query().Encode())
	for _, name := range names {
		value := strings.Join(request.Header.Values(name), ",")
		if name == "host" {
			value = request.URL.Host
		}
		fmt.Fprintf(&canonical, "%s:%s\n", name, strings.TrimSpace(value))
	}
	fmt.Fprintf(&canonical, "\n%s\n%s", signedHeaders, hexSum(body))

	scope := stamp[:8] + "/" + region + "/" + service + "/aws4_request"
	text := "AWS4-HMAC-SHA256\n" + stamp + "\n" + scope + "\n" + hexSum([]byte(canonical.String()))

	// Each part is authenticated with the result of the one before. The last
	// result is the signature of the text.
	signature := []byte("AWS4" + credentials.secret)
	for _, part := range []string{stamp[:8], region, service, "aws4_request", text} {
		mac := hmac.New(sha256.New, signature)
		mac.Write([]byte(part))
		signature = mac.Sum(nil)
	}
	request.Header.Set("Authorization", fmt.Sprintf("AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%x", credentials.id, scope, signedHeaders, signature))
}

func hexSum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
