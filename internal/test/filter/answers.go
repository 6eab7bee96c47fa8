package filter

import (
	"embed"
	"io/fs"
	"path"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

//go:embed answers
var answers embed.FS

// Answer is a file in answers/: an answer of Prometheus, and its effect on the gate with default values.
type Answer struct {
	Name      string `json:"-"`
	Body      string `json:"body"`
	Status    int    `json:"status"`  // 0 means 200
	Kind      string `json:"answer"`  // the answer's counter
	Outcome   string `json:"outcome"` // the call's counter
	LoadMilli *int64 `json:"load_milli"`
	Repeat    struct {
		Text  string `json:"text"`
		Times int    `json:"times"`
	} `json:"repeat"`
}

// Answers returns all answers, by name.
func Answers(t testing.TB) []Answer {
	t.Helper()
	files, err := fs.Glob(answers, "answers/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no answers: %v", err)
	}
	var all []Answer
	for _, file := range files {
		text, err := answers.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		a := Answer{Name: strings.TrimSuffix(path.Base(file), ".yaml")}
		if err := yaml.UnmarshalStrict(text, &a); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if a.Repeat.Times > 0 {
			a.Body = strings.Replace(a.Body, "REPEAT", strings.Repeat(a.Repeat.Text, a.Repeat.Times), 1)
		}
		all = append(all, a)
	}
	return all
}
