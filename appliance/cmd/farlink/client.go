package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"farlink/appliance"
	"farlink/appliance/access"
	"farlink/appliance/lab"
)

// client speaks to the API of a running box.
type client struct {
	base, token string
	hint        string // what to try when no box answers
	http        http.Client
}

// target holds the flags that say which box is meant.
type target struct{ lab, api, token string }

func (t *target) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&t.lab, "lab", "", "the box of this lab")
	f.StringVar(&t.api, "api", "", "the box at this address (or FARLINK_API); http://127.0.0.1:8080 when neither is given")
	f.StringVar(&t.token, "token", "", "token for it (or FARLINK_TOKEN; FARLINK_FINGERPRINT pins a certificate that the box made itself)")
	c.MarkFlagsMutuallyExclusive("lab", "api")
}

// dial finds the box that is meant.
func (t target) dial() (*client, error) {
	c := &client{http: http.Client{Timeout: 30 * time.Second}}
	if t.lab != "" {
		l, err := lab.Find(t.lab)
		if err != nil {
			return nil, err
		}
		c.base, c.token = l.API, l.Token
		return c, nil
	}
	c.base = first(t.api, os.Getenv("FARLINK_API"), "http://"+appliance.DefaultListen)
	if t.api == "" && os.Getenv("FARLINK_API") == "" {
		c.hint = "; want --lab NAME or --api ADDRESS"
	}
	c.token = first(t.token, os.Getenv("FARLINK_TOKEN"))
	if !strings.Contains(c.base, "://") {
		c.base = "http://" + c.base
	}
	c.base = strings.TrimSuffix(c.base, "/")
	if pin := os.Getenv("FARLINK_FINGERPRINT"); pin != "" {
		c.http.Transport = &http.Transport{TLSClientConfig: access.Pinned(pin)}
	}
	return c, nil
}

func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// refused is an answer of the API that is a problem (RFC 9457).
type refused struct {
	Status int    `json:"status"`
	Title  string `json:"title"`
	Detail string `json:"detail"`
	Errors []struct {
		Location string `json:"location"`
		Message  string `json:"message"`
		Value    any    `json:"value"`
	} `json:"errors"`
}

func (r refused) Error() string {
	text := first(r.Detail, r.Title, fmt.Sprintf("status %d", r.Status))
	for _, e := range r.Errors {
		text += fmt.Sprintf("\n  %s: got %v, %s", strings.TrimPrefix(e.Location, "body."), e.Value, e.Message)
	}
	if r.Status == http.StatusUnauthorized {
		text += "\n  want --token, FARLINK_TOKEN or --lab"
	}
	return text
}

// Temporary reports whether the box may do later what it cannot do now.
func (r refused) Temporary() bool { return r.Status == http.StatusServiceUnavailable }

// open asks for a file; the caller closes it.
func (c *client) open(ctx context.Context, path string) (io.ReadCloser, error) {
	answer, err := c.ask(ctx, http.MethodGet, path, nil)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode >= 300 {
		defer answer.Body.Close()
		b, err := io.ReadAll(io.LimitReader(answer.Body, 16<<20))
		return nil, errors.Join(err, refusal(answer, b))
	}
	return answer.Body, nil
}

// refusal is what an answer with an error says.
func refusal(answer *http.Response, body []byte) error {
	no := refused{Status: answer.StatusCode, Title: answer.Status}
	_ = json.Unmarshal(body, &no) // what is not a problem keeps the status
	return no
}

// ask sends body, if any.
func (c *client) ask(ctx context.Context, method, path string, body any) (*http.Response, error) {
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
		return nil, fmt.Errorf("no box answers at %s: %w%s", c.base, errors.Unwrap(err), c.hint)
	}
	return answer, nil
}

// call sends body, if any, and reads the answer into out.
func (c *client) call(ctx context.Context, method, path string, body, out any) error {
	answer, err := c.ask(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(io.LimitReader(answer.Body, 16<<20))
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

// Call is call, for packages that speak to a box.
func (c *client) Call(ctx context.Context, method, path string, in, out any) error {
	return c.call(ctx, method, path, in, out)
}
