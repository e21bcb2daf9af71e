package api

import (
	"github.com/danielgtaylor/huma/v2"

	"farlink/profiles/document"
)

// formats are those that huma reads and writes, with the errors of reading
// in the words of documents.
func formats() map[string]huma.Format {
	f := huma.DefaultJSONFormat
	f.Unmarshal = document.Unmarshal
	return map[string]huma.Format{typeJSON: f, "json": f}
}
