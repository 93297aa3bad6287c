# clattn.rb - formula for Homebrew on Linux, built from the checkout that it lies in:
#   brew install --HEAD --formula packaging/homebrew/clattn.rb
# A release gets a `url' and the `sha256' of its archive; none is published yet.
class Clattn < Formula
  desc "Attention networks on any OpenCL device"
  license "MIT"
  head "file://#{File.expand_path("../..", __dir__)}", using: :git

  depends_on "meson" => :build
  depends_on "ninja" => :build
  depends_on "opencl-headers" => :build
  depends_on "pkgconf" => :build
  depends_on "clblast"
  depends_on "icu4c"
  depends_on "jansson"
  depends_on "libmicrohttpd"
  depends_on "libyaml"
  depends_on :linux
  depends_on "ocl-icd"
  depends_on "pcre2"
  depends_on "sentencepiece"
  depends_on "utf8proc"
  depends_on "xxhash"
  depends_on "zlib"

  resource "random123" do # headers alone
    url "https://github.com/DEShawResearch/random123.git", tag: "v1.14.0"
  end

  def install
    resource("random123").stage { (buildpath/"random123").install "include" }
    ENV.append "CFLAGS", "-I#{buildpath}/random123/include"
    system "meson", "setup", "build", *std_meson_args, "-Dtests=false", "-Dclfft=disabled", "-Dmpi=disabled"
    system "meson", "compile", "-C", "build", "--verbose"
    system "meson", "install", "-C", "build"
  end

  def caveats
    "clattn needs the OpenCL driver of a device; `brew install pocl' has one for CPUs."
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/clattn --version") unless head?
    assert_match "usage", shell_output("#{bin}/clattn --help").downcase
  end
end
