package api

import (
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/danielgtaylor/huma/v2"
)

// A full disk is no bug of the box: the answer names it.
func TestFullDisk(t *testing.T) {
	for _, errno := range []error{syscall.ENOSPC, syscall.EROFS, syscall.EDQUOT} {
		full := fmt.Errorf("state file: %w", &fs.PathError{Op: "write", Path: "/s/pair-main.json", Err: errno})
		for _, err := range []error{refuse(full, "body"), turnAway(full), refuseRun(full)} {
			p, ok := err.(*huma.ErrorModel)
			if !ok || p.Status != http.StatusInsufficientStorage || p.Type != problemURN+"storage" || !strings.Contains(p.Detail, errno.Error()) {
				t.Errorf("%v: %#v", errno, err)
			}
		}
	}
}
