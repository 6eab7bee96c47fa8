package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/fastmachinelearning/supersonic/internal/render"
)

type imagesFlags struct {
	inputs  render.Inputs
	options render.Options
	chart   string
	output  string
}

func newImagesCmd() *cobra.Command {
	flags := imagesFlags{options: render.Options{Release: "supersonic", Namespace: defaultNamespace}}
	cmd := &cobra.Command{
		Use:   "images",
		Short: "List the images that the values need",
		Long: `Lists every image that the pods of a release with these values run, one on a line:
those of enabled components, of "helm test" and of your own containers. Without
values, those of the chart's defaults.

With -o json, each image comes with its digest, if it has one, and with the keys of
the values that name it, which a mirror has to change.`,
		Example: `  supersonic images -f values.yaml
  supersonic images -f values.yaml | xargs -n 1 docker pull
  supersonic images -f values.yaml -o json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			flags.inputs.Stdin = cmd.InOrStdin()
			return flags.run(cmd.OutOrStdout())
		},
	}
	f := cmd.Flags()
	addInputs(f, &flags.inputs)
	addChart(f, &flags.chart)
	f.StringVar(&flags.options.KubeVersion, "kube-version", render.DefaultKubeVersion, "Kubernetes `VERSION` to render for")
	f.StringVarP(&flags.output, "output", "o", "text", "`FORMAT`: text or json")
	complete(cmd, "output", "text", "json")
	return cmd
}

func (i *imagesFlags) run(out io.Writer) error {
	if err := oneOf("output", i.output, "text", "json"); err != nil {
		return err
	}
	user, err := i.inputs.Merge()
	if err != nil {
		return err
	}
	c, err := loadFor(i.chart, i.options)
	if err != nil {
		return err
	}
	images, err := render.Images(c, user.Values, i.options)
	if err != nil {
		return located(user, err)
	}
	if i.output == "json" {
		return printImages(images, out)
	}
	for _, image := range images {
		if _, err := fmt.Fprintln(out, image.Name); err != nil {
			return err
		}
	}
	return nil
}

// printImages prints the names that programs read.
func printImages(images []render.Image, out io.Writer) error {
	type item struct {
		Image  string   `json:"image"`
		Digest string   `json:"digest,omitempty"`
		Values []string `json:"values"`
	}
	items := []item{}
	for _, image := range images {
		items = append(items, item{image.Name, image.Digest, image.Keys})
	}
	return printJSON(items, out)
}
