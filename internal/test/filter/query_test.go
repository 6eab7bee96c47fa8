package filter_test

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/fastmachinelearning/supersonic/internal/test/filter"
)

func format(number float64) string { return fmt.Sprintf("%.6f", number) }

func diffResponse(want, got *filter.Response) string { return cmp.Diff(want, got) }

// hostile holds texts that would end a string, a table, a template or a header if they were inserted unquoted.
var hostile = []string{
	`sum(rate(a{b="c"}[1m]))`,
	`a{b="]]"} ]=] ]==] ]===] == [[ [=[`,
	`]`, `]=`, `]==`, `a]]==]==`, "]=]" + `..os.exit(1)..` + "[=[",
	"\nfirst line empty\n\nlast line empty\n",
	"carriage\rreturn\r\nand both\n\r",
	`back\slash \n \" \065 'single'`,
	"100% %s %d %41 + & = ; # ?",
	"{{ .Values.secret }} ${POD_NAME} $POD_NAME",
	"tab\té 日本",
	" leading and trailing ",
	"- yaml: [list, {a: b}]\n# comment\n---\n...",
	"",
}

func TestQueryArrivesVerbatim(t *testing.T) {
	for _, query := range hostile {
		f, p := gate(t, filter.Defaults(t).With("query", query))
		f.Tick(t)
		form, err := url.ParseQuery(p.form)
		if err != nil {
			t.Errorf("%q: the form %q: %v", query, p.form, err)
		}
		if got := form.Get("query"); got != query {
			t.Errorf("query arrives as %q, want %q", got, query)
		}
	}
}

func FuzzQuery(f *testing.F) {
	for _, query := range hostile {
		f.Add(query)
	}
	f.Fuzz(func(t *testing.T, query string) {
		if !utf8.ValidString(query) {
			t.Skip() // a values file can't contain it
		}
		if _, err := filter.Defaults(t).With("query", query).Source(); err != nil {
			if !strings.Contains(err.Error(), "must not contain") {
				t.Error(err)
			}
			return
		}
		f, p := gate(t, filter.Defaults(t).With("query", query))
		f.Tick(t)
		form, err := url.ParseQuery(p.form)
		if err != nil || form.Get("query") != query {
			t.Errorf("query %q arrives as %q, %v", query, form.Get("query"), err)
		}
	})
}

// Helm's toYaml turns strings that YAML can't represent into empty ones, so they must be rejected before.
func TestControlCharacters(t *testing.T) {
	for _, query := range []string{"a\x00", "a\x01b", "\x1b[0m", "\x7f", "\u0085", "\u2028", "\ufeff", "\uffff"} {
		_, err := filter.Defaults(t).With("query", query).Source()
		if err == nil || !strings.Contains(err.Error(), "must not contain control characters") {
			t.Errorf("%q: %v", query, err)
		}
	}
}

func TestQueryHeader(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"token": "secret-token\n", "user": "ann", "password": "p:w \n", "empty": "\n",
		"injected": "token\r\nx-admin: 1",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file := func(name string) string { return filepath.Join(dir, name) }
	for _, c := range []struct {
		name          string
		auth          map[string]any
		authorization string
		answer        string
	}{
		{"none", map[string]any{"type": "none"}, "", "load"},
		{"bearer", map[string]any{"type": "bearer", "bearerFile": file("token")}, "Bearer secret-token", "load"},
		{
			"basic",
			map[string]any{"type": "basic", "usernameFile": file("user"), "passwordFile": file("password")},
			"Basic YW5uOnA6dw==", "load",
		},
		{"no-file", map[string]any{"type": "bearer", "bearerFile": file("none")}, "", "no_credentials"},
		{"empty-file", map[string]any{"type": "bearer", "bearerFile": file("empty")}, "", "no_credentials"},
		{"injected-header", map[string]any{"type": "bearer", "bearerFile": file("injected")}, "", "no_credentials"},
		{
			"no-password",
			map[string]any{"type": "basic", "usernameFile": file("user"), "passwordFile": file("none")},
			"",
			"no_credentials",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, p := gate(t, filter.Defaults(t).With("prometheus.auth", c.auth).
				With("prometheus.headers", map[string]any{"X-Scope-OrgID": "team"}).With("prometheus.path", "/a/b/"))
			f.Tick(t)
			if diff := cmp.Diff([]string{"answer." + c.answer}, f.Counted()[:1]); diff != "" {
				t.Errorf("answers (-want +got):\n%s", diff)
			}
			if c.answer != "load" {
				if p.queries != 0 {
					t.Error("asks without its credentials")
				}
				return
			}
			want := filter.Header{
				":method": "POST", ":path": "/a/b/api/v1/query", ":authority": "prometheus:9090", "x-scope-orgid": "team",
				"content-type": "application/x-www-form-urlencoded", "accept": "application/json",
			}
			if c.authorization != "" {
				want["authorization"] = c.authorization
			}
			if diff := cmp.Diff(want, p.last); diff != "" {
				t.Errorf("header (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSecretIsReadAgain(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	write := func(text string) {
		if err := os.WriteFile(token, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("old")
	f, p := gate(t, filter.Defaults(t).With("prometheus.auth", map[string]any{"type": "bearer", "bearerFile": token}))
	f.Tick(t)
	write("new")
	f.NowMS += 2000
	f.Tick(t)
	if got := p.last["authorization"]; got != "Bearer new" {
		t.Errorf("authorization: %q, want the rotated token", got)
	}
}

func TestAuthority(t *testing.T) {
	for _, c := range []struct {
		scheme, host string
		port         float64
		want         string
	}{
		{"http", "prometheus.monitoring.svc", 9090, "prometheus.monitoring.svc:9090"},
		{"http", "prometheus", 80, "prometheus"},
		{"https", "prometheus.example.org", 443, "prometheus.example.org"},
		{"https", "prometheus.example.org", 8443, "prometheus.example.org:8443"},
		{"http", "fd00::1", 9090, "[fd00::1]:9090"},
	} {
		f, p := gate(t, filter.Defaults(t).With("prometheus.scheme", c.scheme).With("prometheus.host", c.host).
			With("prometheus.port", c.port))
		f.Tick(t)
		if got := p.last[":authority"]; got != c.want {
			t.Errorf("%s %s %v: authority %q, want %q", c.scheme, c.host, c.port, got, c.want)
		}
	}
}
