package api

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"
)

// static holds the panel's files, compressed once.
type static struct{ files map[string]file }

type file struct {
	media        string
	etag         string
	plain, small []byte
}

// newStatic reads the files; index.html stands at /.
func newStatic(from fs.FS) (*static, error) {
	s := &static{map[string]file{}}
	err := fs.WalkDir(from, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		f, err := newFile(name, b)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		s.files["/"+strings.TrimSuffix(name, "index.html")] = f
		return nil
	})
	return s, err
}

func newFile(name string, b []byte) (file, error) {
	sum := sha256.Sum256(b)
	var small bytes.Buffer
	z := gzip.NewWriter(&small)
	if _, err := z.Write(b); err != nil {
		return file{}, err
	}
	if err := z.Close(); err != nil {
		return file{}, err
	}
	media := mime.TypeByExtension(path.Ext(name))
	if path.Ext(name) == ".js" {
		media = "text/javascript; charset=utf-8" // whatever /etc/mime.types says
	}
	return file{media: media, etag: quote(hex.EncodeToString(sum[:8])), plain: b, small: small.Bytes()}, nil
}

// register gives each file its path.
func (s *static) register(r *gin.Engine) {
	for name, f := range s.files {
		serve := gin.WrapF(f.serve)
		r.GET(name, serve)
		r.HEAD(name, serve)
	}
}

func (f file) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", f.media)
	h.Set("ETag", f.etag)
	h.Set("Cache-Control", "no-cache") // asks each time, by ETag
	h.Set("Vary", "Accept-Encoding")
	if matches(r.Header.Get("If-None-Match"), strings.Trim(f.etag, `"`)) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	body := f.plain
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		body = f.small
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if r.Method != http.MethodHead {
		w.Write(body)
	}
}
