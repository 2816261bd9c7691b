//go:build awskms

package kms

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// awsIdentity finds the program's credentials the way AWS's own programs do. It
// uses the first of these that is set:
//
//   - AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN
//   - AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN: a pod's service account
//   - AWS_CONTAINER_CREDENTIALS_FULL_URI or _RELATIVE_URI: a task's or pod's role
//   - the machine's role, by the metadata service
//
// Shared configuration files are not read.
type awsIdentity struct {
	fetch func(context.Context) (awsCredentials, error)

	mu      sync.Mutex
	current awsCredentials
}

// awsEarly is how long before they expire credentials are fetched again.
const awsEarly = 5 * time.Minute

func newAWSIdentity(client *http.Client, region, domain string, env func(string) (string, bool)) *awsIdentity {
	get := func(name string) string { return lookup(env, name) }
	identity := &awsIdentity{}
	switch {
	case get("AWS_ACCESS_KEY_ID") != "":
		identity.current = awsCredentials{
			id:      get("AWS_ACCESS_KEY_ID"),
			secret:  get("AWS_SECRET_ACCESS_KEY"),
			session: get("AWS_SESSION_TOKEN"),
		}

	case get("AWS_WEB_IDENTITY_TOKEN_FILE") != "":
		sts := get("AWS_ENDPOINT_URL_STS")
		if sts == "" {
			sts = "https://sts." + region + "." + domain
		}
		identity.fetch = awsWebIdentity(client, sts, get)

	case get("AWS_CONTAINER_CREDENTIALS_FULL_URI") != "":
		identity.fetch = awsContainer(client, get("AWS_CONTAINER_CREDENTIALS_FULL_URI"), get)

	case get("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") != "":
		identity.fetch = awsContainer(client, "http://169.254.170.2"+get("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"), get)

	default:
		host := get("AWS_EC2_METADATA_SERVICE_ENDPOINT")
		if host == "" {
			host = "http://169.254.169.254"
		}
		identity.fetch = awsMachine(client, strings.TrimRight(host, "/"))
	}
	return identity
}

// get returns credentials that do not expire soon. The lock is not held while
// they are fetched.
func (i *awsIdentity) get(ctx context.Context) (awsCredentials, error) {
	i.mu.Lock()
	current := i.current
	i.mu.Unlock()
	if current.id != "" && (current.expiresAt.IsZero() || time.Now().Before(current.expiresAt.Add(-awsEarly))) {
		return current, nil
	}

	fresh, err := i.fetch(ctx)
	if err != nil {
		return current, err
	}
	if fresh.id == "" || fresh.secret == "" {
		return current, errors.New("no credentials were returned")
	}

	i.mu.Lock()
	defer i.mu.Unlock()
	i.current = fresh
	return fresh, nil
}

// awsGrant is how the container and machine services write credentials.
type awsGrant struct {
	ID         string    `json:"AccessKeyId"`
	Secret     string    `json:"SecretAccessKey"`
	Token      string    `json:"Token"`
	Expiration time.Time `json:"Expiration"`
}

func (g awsGrant) credentials() awsCredentials {
	return awsCredentials{
		id:        g.ID,
		secret:    g.Secret,
		session:   g.Token,
		expiresAt: g.Expiration,
	}
}

func awsContainer(client *http.Client, address string, get func(string) string) func(context.Context) (awsCredentials, error) {
	return func(ctx context.Context) (awsCredentials, error) {
		// The file is read each time: the platform replaces it.
		token := get("AWS_CONTAINER_AUTHORIZATION_TOKEN")
		if path := get("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"); path != "" {
			var err error
			if token, err = secretFile(path); err != nil {
				return awsCredentials{}, err
			}
		}

		request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return awsCredentials{}, err
		}
		if token != "" {
			request.Header.Set("Authorization", token)
		}

		var grant awsGrant
		err = exchange(client, request, &grant)
		return grant.credentials(), err
	}
}

// awsMachine asks the machine's metadata service, in its second version: a
// session is begun first.
func awsMachine(client *http.Client, host string) func(context.Context) (awsCredentials, error) {
	const roles = "/latest/meta-data/iam/security-credentials/"
	return func(ctx context.Context) (awsCredentials, error) {
		session, err := plainText(ctx, client, http.MethodPut, host+"/latest/api/token", "X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "300")
		if err != nil {
			return awsCredentials{}, err
		}
		role, err := plainText(ctx, client, http.MethodGet, host+roles, "X-Aws-Ec2-Metadata-Token", session)
		if err != nil {
			return awsCredentials{}, err
		}

		request, err := http.NewRequestWithContext(ctx, http.MethodGet, host+roles+url.PathEscape(role), nil)
		if err != nil {
			return awsCredentials{}, err
		}
		request.Header.Set("X-Aws-Ec2-Metadata-Token", session)
		var grant awsGrant
		err = exchange(client, request, &grant)
		return grant.credentials(), err
	}
}

func awsWebIdentity(client *http.Client, sts string, get func(string) string) func(context.Context) (awsCredentials, error) {
	return func(ctx context.Context) (awsCredentials, error) {
		token, err := secretFile(get("AWS_WEB_IDENTITY_TOKEN_FILE"))
		if err != nil {
			return awsCredentials{}, err
		}
		name := get("AWS_ROLE_SESSION_NAME")
		if name == "" {
			name = "waybill"
		}

		form := url.Values{
			"Action":           {"AssumeRoleWithWebIdentity"},
			"Version":          {"2011-06-15"},
			"RoleArn":          {get("AWS_ROLE_ARN")},
			"RoleSessionName":  {name},
			"WebIdentityToken": {token},
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, sts+"/", strings.NewReader(form.Encode()))
		if err != nil {
			return awsCredentials{}, err
		}
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		request.Header.Set("Accept", "application/json") // STS answers with XML otherwise

		var answer struct {
			Response struct {
				Result struct {
					Credentials struct {
						ID         string  `json:"AccessKeyId"`
						Secret     string  `json:"SecretAccessKey"`
						Token      string  `json:"SessionToken"`
						Expiration float64 `json:"Expiration"` // seconds since 1970
					}
				} `json:"AssumeRoleWithWebIdentityResult"`
			} `json:"AssumeRoleWithWebIdentityResponse"`
		}
		if err := exchange(client, request, &answer); err != nil {
			return awsCredentials{}, fmt.Errorf("assume the web identity role: %w", err)
		}

		given := answer.Response.Result.Credentials
		return awsCredentials{
			id:        given.ID,
			secret:    given.Secret,
			session:   given.Token,
			expiresAt: time.Unix(int64(given.Expiration), 0),
		}, nil
	}
}

// plainText sends a request with one header and reads a short answer.
func plainText(ctx context.Context, client *http.Client, method, address, header, value string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, method, address, nil)
	if err != nil {
		return "", err
	}
	request.Header.Set(header, value)

	response, err := client.Do(request)
	if err != nil {
		return "", fmt.Errorf("the instance metadata service does not respond: %w", err)
	}
	defer func() { _ = response.Body.Close() }()

	body, err := io.ReadAll(io.LimitReader(response.Body, answerLimit))
	if err == nil && response.StatusCode != http.StatusOK {
		err = &statusError{code: response.StatusCode}
	}
	return strings.TrimSpace(string(body)), err
}
