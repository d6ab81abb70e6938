# Standard errors and limits of crq on data/crq_data.csv: writes data/crq_summary.csv.
# Run in this folder with: Rscript crq_summary.R (R 4.2.2, quantreg 5.94, survival 3.5-3).
suppressMessages({library(quantreg); library(survival)})
data <- read.csv("data/crq_data.csv")
rows <- NULL
for (method in c("Portnoy", "PengHuang")) {
  fit <- crq(Surv(time, event) ~ x1 + x2, data = data, method = method)
  for (bootstrap in c("jack", "xy-pair", "Bose")) {
    set.seed(1)
    for (level in summary(fit, c(0.25, 0.5, 0.75), R = 1000, bmethod = bootstrap)) {
      table <- level$coefficients
      rows <- rbind(rows, data.frame(method = method, bootstrap = bootstrap, tau = level$tau,
                                     term = c("intercept", "x1", "x2"), coefficient = table[, 1],
                                     lower = table[, 2], upper = table[, 3], se = table[, 4]))
    }
  }
}
write.csv(format(rows, digits = 8, trim = TRUE), "data/crq_summary.csv", row.names = FALSE, quote = FALSE)
