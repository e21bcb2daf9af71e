// Package page serves files that do not change while the program runs: the
// panel. Each has an ETag and is compressed once, at the start.
package page

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
)

// Files are files by path; index.html stands at /.
type Files map[string]File

// File is one of them.
type File struct {
	media        string
	etag         string
	plain, small []byte
}

// Read reads all files.
func Read(from fs.FS) (Files, error) {
	s := Files{}
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
		s["/"+strings.TrimSuffix(name, "index.html")] = f
		return nil
	})
	return s, err
}

func newFile(name string, b []byte) (File, error) {
	sum := sha256.Sum256(b)
	var small bytes.Buffer
	z := gzip.NewWriter(&small)
	if _, err := z.Write(b); err != nil {
		return File{}, err
	}
	if err := z.Close(); err != nil {
		return File{}, err
	}
	media := mime.TypeByExtension(path.Ext(name))
	if path.Ext(name) == ".js" {
		media = "text/javascript; charset=utf-8" // whatever /etc/mime.types says
	}
	return File{media: media, etag: `"` + hex.EncodeToString(sum[:8]) + `"`, plain: b, small: small.Bytes()}, nil
}

// ServeHTTP answers with the file.
func (f File) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", f.media)
	h.Set("ETag", f.etag)
	h.Set("Cache-Control", "no-cache") // asks each time, by ETag
	h.Set("Vary", "Accept-Encoding")
	if strings.Contains(r.Header.Get("If-None-Match"), f.etag) {
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
