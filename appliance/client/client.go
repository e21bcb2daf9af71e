// Package client speaks to the API of a running box.
package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"farlink/appliance"
	"farlink/appliance/access"
)

// Client is one box as its users see it.
type Client struct {
	base, token string
	// Hint is what to try when no box answers, behind the error.
	Hint string
	http http.Client
}

// patience is how long a box may take to answer.
const patience = 30 * time.Second

// New returns a client of the box at an address, with or without scheme. pin
// is the fingerprint of a certificate that the box made itself; "" trusts
// those that the system does.
func New(address, token, pin string) *Client {
	c := &Client{base: address, token: token, http: http.Client{Timeout: patience}}
	if !strings.Contains(c.base, "://") {
		c.base = "http://" + c.base
	}
	c.base = strings.TrimSuffix(c.base, "/")
	if pin != "" {
		c.http.Transport = &http.Transport{TLSClientConfig: access.Pinned(pin)}
	}
	return c
}

// Refused is an answer of the API that is a problem (RFC 9457).
type Refused struct {
	Status int    `json:"status"`
	Title  string `json:"title"`
	Detail string `json:"detail"`
	Errors []struct {
		Location string `json:"location"`
		Message  string `json:"message"`
		Value    any    `json:"value"`
	} `json:"errors"`
}

func (r Refused) Error() string {
	text := cmp.Or(r.Detail, r.Title, fmt.Sprintf("status %d", r.Status))
	for _, e := range r.Errors {
		text += fmt.Sprintf("\n  %s: got %v, %s", strings.TrimPrefix(e.Location, "body."), e.Value, e.Message)
	}
	if r.Status == http.StatusUnauthorized {
		text += "\n  want --token, FARLINK_TOKEN or --lab"
	}
	return text
}

// Temporary reports whether the box may do later what it cannot do now.
func (r Refused) Temporary() bool { return r.Status == http.StatusServiceUnavailable }

// Call sends in, if any, and reads the answer into out, if any; the path
// begins behind /api/v1. The error of a box that does not do it is a Refused.
func (c *Client) Call(ctx context.Context, method, path string, in, out any) error {
	answer, err := c.ask(ctx, method, path, in)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(io.LimitReader(answer.Body, answerMost))
	if err != nil {
		return err
	}
	if answer.StatusCode >= 300 {
		return refusal(answer, b)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(b, out)
}

// Open asks for a file, which may have gigabytes and take its time; the caller
// closes it.
func (c *Client) Open(ctx context.Context, path string) (io.ReadCloser, error) {
	slow := *c
	slow.http.Timeout = 0
	answer, err := slow.ask(ctx, http.MethodGet, path, nil)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode >= 300 {
		defer answer.Body.Close()
		b, err := io.ReadAll(io.LimitReader(answer.Body, answerMost))
		return nil, errors.Join(err, refusal(answer, b))
	}
	return answer.Body, nil
}

// answerMost bounds an answer that is kept in memory.
const answerMost = 16 << 20

// refusal is what an answer with an error says.
func refusal(answer *http.Response, body []byte) error {
	no := Refused{Status: answer.StatusCode, Title: answer.Status}
	_ = json.Unmarshal(body, &no) // what is not a problem keeps the status
	return no
}

// ask sends a request with a body, if any.
func (c *Client) ask(ctx context.Context, method, path string, body any) (*http.Response, error) {
	var content io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(b)
	}
	r, err := http.NewRequestWithContext(ctx, method, c.base+"/api/v1"+path, content)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	answer, err := c.http.Do(r)
	if err != nil {
		return nil, fmt.Errorf("no box answers at %s: %w%s", c.base, errors.Unwrap(err), c.Hint)
	}
	return answer, nil
}

// Status returns the state of the whole box.
func (c *Client) Status(ctx context.Context) (s appliance.State, err error) {
	err = c.Call(ctx, http.MethodGet, "/status", nil, &s)
	return s, err
}
