package page

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
)

func TestFiles(t *testing.T) {
	long := strings.Repeat("export const x = 1\n", 100)
	files, err := Read(fstest.MapFS{"index.html": {Data: []byte("<p>hi")}, "lib/a.js": {Data: []byte(long)}})
	if err != nil || len(files) != 2 {
		t.Fatalf("%v, %v", files, err)
	}
	get := func(name, method string, head ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, name, nil)
		for i := 0; i+1 < len(head); i += 2 {
			r.Header.Set(head[i], head[i+1])
		}
		w := httptest.NewRecorder()
		files[name].ServeHTTP(w, r)
		return w
	}
	if w := get("/", "GET"); w.Body.String() != "<p>hi" || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") || w.Header().Get("Content-Length") != "5" {
		t.Errorf("%v %s", w.Header(), w.Body)
	}
	w := get("/lib/a.js", "GET", "Accept-Encoding", "br, gzip")
	if w.Header().Get("Content-Encoding") != "gzip" || w.Header().Get("Content-Type") != "text/javascript; charset=utf-8" || w.Body.Len() > len(long)/5 {
		t.Errorf("%v, %d bytes", w.Header(), w.Body.Len())
	}
	z, err := gzip.NewReader(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(z); err != nil || string(b) != long {
		t.Errorf("%v, %d bytes", err, len(b))
	}
	if again := get("/lib/a.js", "GET", "If-None-Match", w.Header().Get("ETag")); again.Code != http.StatusNotModified || again.Body.Len() != 0 {
		t.Errorf("%d, %d bytes", again.Code, again.Body.Len())
	}
	if head := get("/", "HEAD"); head.Body.Len() != 0 || head.Header().Get("ETag") == "" {
		t.Errorf("%d bytes, %v", head.Body.Len(), head.Header())
	}
}
