# The whole pipeline in a container: build the image, then run it, and the website is in /dramaturg/build/site.
#
#     docker build -t dramaturg .
#     docker run --rm -p 8000:8000 dramaturg
#
# Keys go in with `--env-file .env`, results come out with `-v "$PWD/results:/dramaturg/results"`.
FROM python:3.13-slim
RUN apt-get update \
    && apt-get install --yes --no-install-recommends git make libgomp1 \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /dramaturg
COPY . .
RUN make setup
EXPOSE 8000
CMD ["sh", "-c", "make bench && exec .venv/bin/bench site serve --host 0.0.0.0"]
