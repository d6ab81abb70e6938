# Powell's estimator on left-censored data: writes data/crq_powell_data.csv and data/crq_powell.csv.
# Run in this folder with: Rscript crq_powell.R (R 4.2.2, quantreg 5.94).
# The data are those of the example on quantreg's help page of crq.
suppressMessages({library(quantreg); library(survival)})
set.seed(2345)
x <- sqrt(rnorm(100)^2)
y <- pmax(0, -0.5 + x + (0.25 + 0.25 * x) * rnorm(100))
limit <- rep(0, 100)
digits <- function(frame) format(frame, digits = 17, trim = TRUE)
write.csv(digits(data.frame(x = x, y = y, limit = limit)), "data/crq_powell_data.csv",
          row.names = FALSE, quote = FALSE)
rows <- NULL
for (tau in c(0.2, 0.4, 0.6, 0.8)) for (search in c("local", "global")) {
  fit <- if (search == "global") crq(Curv(y, limit) ~ x, tau = tau, method = "Pow", start = "global")
         else crq(Curv(y, limit) ~ x, tau = tau, method = "Pow")
  b <- coef(fit)
  residual <- y - pmax(limit, b[1] + b[2] * x)
  loss <- sum(residual * (tau - (residual < 0)))
  rows <- rbind(rows, data.frame(tau = tau, search = search, intercept = b[1], x = b[2], loss = loss))
}
write.csv(digits(rows), "data/crq_powell.csv", row.names = FALSE, quote = FALSE)
