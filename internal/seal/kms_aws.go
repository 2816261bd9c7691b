//go:build awskms

package seal

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
)

// awsKey is a symmetric key of AWS KMS.
type awsKey struct {
	client   *http.Client
	endpoint string
	region   string
	arn      string
	identity *awsIdentity
}

// openAWS reads the ARN of a key (or of an alias). Who asks is told by the
// settings that AWS gives its own programs: see awsIdentity. Requests go to the
// region's endpoint, or to AWS_ENDPOINT_URL_KMS.
func openAWS(key string, env func(string) (string, bool)) (Wrapper, error) {
	parts := strings.Split(key, ":")
	if len(parts) < 6 || parts[0] != "arn" || parts[2] != "kms" || parts[3] == "" {
		return nil, errors.New("the address of an AWS key is aws-kms://arn:aws:kms:REGION:ACCOUNT:key/ID")
	}
	client := newClient(nil)
	a := &awsKey{client: client, region: parts[3], arn: key, endpoint: lookup(env, "AWS_ENDPOINT_URL_KMS")}
	if a.endpoint == "" {
		a.endpoint = "https://kms." + a.region + "." + awsDomain(parts[1])
	}
	a.identity = newAWSIdentity(client, a.region, awsDomain(parts[1]), env)
	k := newKMS("aws-kms://" + key)
	k.encrypt, k.decrypt = a.encrypt, a.decrypt
	return k, nil
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

// The context is shown in AWS's own log: it holds ids alone.
func awsContext(place string) map[string]string { return map[string]string{"waybill": place} }

func (a *awsKey) encrypt(ctx context.Context, plain []byte, place string) ([]byte, error) {
	answer, err := a.do(ctx, "Encrypt", awsRequest{Key: a.arn, Plaintext: plain, Context: awsContext(place)})
	if err == nil && len(answer.Ciphertext) == 0 {
		err = errors.New("the key service sent nothing back")
	}
	return answer.Ciphertext, err
}

func (a *awsKey) decrypt(ctx context.Context, sealed []byte, place string) ([]byte, error) {
	answer, err := a.do(ctx, "Decrypt", awsRequest{Key: a.arn, Ciphertext: sealed, Context: awsContext(place)})
	if awsFault(err) == "InvalidCiphertextException" {
		return nil, ErrOpen
	}
	return answer.Plaintext, err
}

func (a *awsKey) do(ctx context.Context, what string, body awsRequest) (awsAnswer, error) {
	var answer awsAnswer
	who, err := a.identity.get(ctx)
	if err != nil {
		return answer, fmt.Errorf("credentials for AWS KMS: %w", err)
	}
	req, data, err := newRequest(ctx, a.endpoint+"/", body)
	if err != nil {
		return answer, err
	}
	req.Header.Set("Content-Type", "application/x-amz-json-1.1")
	req.Header.Set("X-Amz-Target", "TrentService."+what)
	awsSign(req, data, who, a.region, "kms", time.Now())
	if err := exchange(a.client, req, &answer); err != nil {
		return answer, fmt.Errorf("on AWS: %w %s", err, awsFault(err))
	}
	return answer, nil
}

// awsFault is AWS's name of an error; empty if it has none.
func awsFault(err error) string {
	e, ok := errors.AsType[*statusError](err)
	if !ok {
		return ""
	}
	var fault struct {
		Type string `json:"__type"`
	}
	if json.Unmarshal(e.body, &fault) != nil {
		return ""
	}
	if i := strings.LastIndexByte(fault.Type, '#'); i >= 0 {
		fault.Type = fault.Type[i+1:]
	}
	return fault.Type
}

// awsCredentials sign requests.
type awsCredentials struct {
	id, secret, session string
	until               time.Time // zero if they do not end
}

// awsSign signs a request by Signature Version 4, with all headers that it has.
func awsSign(req *http.Request, body []byte, who awsCredentials, region, service string, now time.Time) {
	stamp := now.UTC().Format("20060102T150405Z")
	req.Header.Set("X-Amz-Date", stamp)
	if who.session != "" {
		req.Header.Set("X-Amz-Security-Token", who.session)
	}
	names := []string{"host"}
	for name := range req.Header {
		names = append(names, strings.ToLower(name))
	}
	slices.Sort(names)
	var canonical strings.Builder
	fmt.Fprintf(&canonical, "%s\n%s\n%s\n", req.Method, req.URL.EscapedPath(), req.URL.Query().Encode())
	for _, name := range names {
		value := strings.Join(req.Header.Values(name), ",")
		if name == "host" {
			value = req.URL.Host
		}
		fmt.Fprintf(&canonical, "%s:%s\n", name, strings.TrimSpace(value))
	}
	signed := strings.Join(names, ";")
	fmt.Fprintf(&canonical, "\n%s\n%s", signed, hexSum(body))
	scope := stamp[:8] + "/" + region + "/" + service + "/aws4_request"
	text := "AWS4-HMAC-SHA256\n" + stamp + "\n" + scope + "\n" + hexSum([]byte(canonical.String()))
	key := []byte("AWS4" + who.secret)
	for _, part := range []string{stamp[:8], region, service, "aws4_request", text} {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(part))
		key = mac.Sum(nil)
	}
	req.Header.Set("Authorization", fmt.Sprintf("AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%x", who.id, scope, signed, key))
}

func hexSum(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
