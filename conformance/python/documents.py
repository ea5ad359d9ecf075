"""Runs the examples of examples/python, as programs and as notebooks, and those of docs/clusters.md,
and compares array jobs with one run."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import nbformat
import pyarrow.parquet as pq
import yaml
from columns import differences

import logtool

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = Path(os.environ["LOGTOOL_SAMPLES"])
EXAMPLES = {
    "flights.py": [SAMPLES / "ulog/px4ulogrs_quadrotor_local.ulg"],
    "bags.py": [SAMPLES / "rosbag/robot_localization-test1.bag"],
    "lidars.py": [SAMPLES / "velodyne/vlp16_mrpt_gps_sample.pcap"],
    "fleets.py": ["logs", "example-tables"],
}
PYTHON = [sys.executable, "-B", "-W", "ignore"]


def run(command, folder, **variables):
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    name = " ".join(map(str, command))[:100]
    if done.returncode != 0:
        sys.exit(f"{name}\n{done.stdout}{done.stderr}")
    return done.stdout


def cells(script):
    """The cells of a script: each begins with `# %%`, and `# %% [markdown]` is text."""
    for cell in re.split(r"^# %%", script, flags=re.MULTILINE)[1:]:
        head, body = cell.split("\n", 1)
        if head.strip() == "[markdown]":
            yield nbformat.v4.new_markdown_cell(re.sub(r"^# ?", "", body, flags=re.MULTILINE).strip())
        else:
            comment = f"#{head}\n" if head.strip() else ""
            yield nbformat.v4.new_code_cell((comment + body).strip())


def notebook(script, arguments):
    """A notebook with the cells of `script`, which it runs with `arguments`."""
    first = nbformat.v4.new_code_cell(f"import sys\n\nsys.argv[1:] = {[str(word) for word in arguments]}")
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    metadata = {"kernelspec": kernel}
    return nbformat.v4.new_notebook(cells=[first, *cells(script)], metadata=metadata)


def run_notebooks(folder):
    """Runs the examples as notebooks: each cell of code runs, and each notebook shows something."""
    files = []
    for example, arguments in EXAMPLES.items():
        script = (ROOT / "examples/python" / example).read_text()
        file = folder / example.replace(".py", ".ipynb")
        arguments = [word if word != "example-tables" else "notebook-tables" for word in arguments]
        nbformat.write(notebook(script, arguments), file)
        files.append(file)
    command = [*PYTHON, "-m", "nbconvert", "--to", "notebook", "--execute", "--inplace"]
    run([*command, *files], folder)
    for file in files:
        code = [cell for cell in nbformat.read(file, 4).cells if cell.cell_type == "code"]
        shown = [output for cell in code for output in cell.outputs]
        texts = [output for output in shown if output.output_type in ("stream", "execute_result", "display_data")]
        if len(code) < 3 or not texts or any(cell.execution_count is None for cell in code):
            sys.exit(f"{file.name}: not all cells ran")
        print("ok:", file.name, len(code), "cells")


def blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def array_jobs(text):
    """The command, the number of parts, and the variable with the part, of each array job."""
    (manifest,) = (yaml.safe_load(block) for block in blocks(text, "yaml"))
    (container,) = manifest["spec"]["template"]["spec"]["containers"]
    assert manifest["spec"]["completionMode"] == "Indexed"
    yield container["command"], manifest["spec"]["completions"], "JOB_COMPLETION_INDEX"
    (script,) = blocks(text, "bash")
    last = int(re.search(r"--array=0-(\d+)", script)[1])
    (line,) = (line for line in script.splitlines() if line.startswith("srun "))
    yield shlex.split(line)[1:], last + 1, "SLURM_ARRAY_TASK_ID"
    (job,) = (json.loads(block) for block in blocks(text, "json"))
    command = job["containerOverrides"]["command"]
    yield command, job["arrayProperties"]["size"], "AWS_BATCH_JOB_ARRAY_INDEX"


def variables(name, part, parts):
    values = {name: str(part)}
    if name == "SLURM_ARRAY_TASK_ID":
        values |= {
            "SLURM_ARRAY_TASK_COUNT": str(parts),
            "SLURM_ARRAY_TASK_MIN": "0",
            "SLURM_ARRAY_TASK_MAX": str(parts - 1),
            "SLURM_ARRAY_TASK_STEP": "1",
        }
    if name == "AWS_BATCH_JOB_ARRAY_INDEX":
        values["AWS_BATCH_JOB_ARRAY_SIZE"] = str(parts)
    return values


def tables(folder):
    paths = folder.glob("*/**/part-0.parquet")
    return {str(path.relative_to(folder)): pq.read_table(path) for path in paths}


def same(left, right):
    names = left.keys() == right.keys()
    return names and not any([*differences(left[name], right[name])] for name in left)


def main():
    text = (ROOT / "docs/clusters.md").read_text()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "logs").mkdir()
        for sample in [*EXAMPLES["flights.py"], *EXAMPLES["bags.py"]]:
            shutil.copy(sample, folder / "logs")
        examples = {path.name for path in (ROOT / "examples/python").glob("*.py")}
        assert examples == EXAMPLES.keys(), examples
        for example, arguments in EXAMPLES.items():
            run([*PYTHON, ROOT / "examples/python" / example, *arguments], folder)
            print("ok:", example)
        run_notebooks(folder)
        for block in blocks(text, "python"):
            run([*PYTHON, "-c", block], folder)
            print("ok:", block.splitlines()[0])
        logtool.batch(folder / "logs", folder / "expected")
        expected = tables(folder / "expected")
        for command, parts, variable in array_jobs(text):
            shutil.rmtree(folder / "tables", ignore_errors=True)
            # The first part runs twice.
            for part in [0, *range(parts)]:
                run(command, folder, **variables(variable, part, parts))
            if not same(tables(folder / "tables"), expected):
                sys.exit(f"{variable}: the array job makes other tables")
            print("ok:", variable, parts, "parts,", len(expected), "files")


if __name__ == "__main__":
    main()
