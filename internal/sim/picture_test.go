package sim_test

import (
	"bytes"
	"regexp"
	"testing"

	"github.com/fastmachinelearning/supersonic/internal/test/golden"
)

var svgElement = regexp.MustCompile(`(?s)<svg.*?</svg>`)

// The pictures of docs/simulating.md are plots of a scenario's page.
func TestPicturesOfTheDocs(t *testing.T) {
	r := compared(t, "thinking-400", 1, "built-in", "measured")
	var page bytes.Buffer
	if err := r.Page(&page); err != nil {
		t.Fatal(err)
	}
	drawn := svgElement.FindAllString(page.String(), -1)
	if len(drawn) != 3 {
		t.Fatalf("%d pictures, want cost and one for each policy", len(drawn))
	}
	golden.CompareDir(t, "../../docs/simulation", map[string]string{"built-in.svg": drawn[1] + "\n", "measured.svg": drawn[2] + "\n"})
}
